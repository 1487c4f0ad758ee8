"""The time by which commands decide is that of AWS: a machine's clock may be ten minutes off, and nothing changes."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

import pytest
from moto import mock_aws
from msgspec import field

from tests.command import PROJECT
from tests.operations.mocked_aws import VARIABLES
from tests.operations.test_rolling_restart import Model, run
from warmbase.operations.aws.clients import Aws
from warmbase.operations.cluster.hbase_control import CacheReads

SKEWS = (-600, 600)
RECORDS = {
    "cli/deploy/canary.py",
    "cli/prove/verify.py",
    "cli/size/inspect.py",
    "operations/aws/clients.py",
    "operations/aws/lock.py",
    "operations/cluster/claims.py",
    "operations/cluster/protection.py",
    "operations/cluster/state.py",
}
"""Modules that write the time of this machine into a record, a page or a file name, where nothing depends on it."""
DATE, SECONDS = "Tue, 01 Jan 2030 00:00:00 GMT", 1_893_456_000.0


def note(aws: Aws, **headers: str) -> None:
    aws._note_date(parsed={"ResponseMetadata": {"HTTPHeaders": headers}})


@pytest.mark.parametrize("later", [{}, {"date": "yesterday"}, {"expires": DATE}], ids=["none", "no date", "another"])
def test_the_time_goes_on_from_the_last_date(later: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    aws, now = Aws(VARIABLES), 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    note(aws, date=DATE)
    assert aws.now().timestamp() == SECONDS
    now += 90
    note(aws, **later)
    aws._note_date(parsed={})
    assert aws.now().timestamp() == SECONDS + 90


def test_without_an_answer_it_asks_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    aws, asked = Aws(VARIABLES), list[Any]()

    def caller(one: Aws) -> str:
        asked.append(one)
        note(one, date=DATE)
        return "arn"

    monkeypatch.setattr(Aws, "caller", property(caller))
    assert aws.now().timestamp() == pytest.approx(SECONDS, abs=5)
    assert asked == [aws]


def test_an_answer_without_a_date_leaves_the_clock_of_this_machine() -> None:
    with mock_aws():
        assert Aws(VARIABLES).now().timestamp() == pytest.approx(time.time(), abs=60)


class Skewed(Model, dict=True):
    """An HBase whose figures are published by a clock that is ahead of this machine's, or behind."""

    skew: float = 0.0
    since: list[float] = field(default_factory=list)

    def now(self) -> float:
        return time.time() + self.skew

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        self.since.append(since)
        return super().cache_reads(since)


@pytest.mark.parametrize("skew", SKEWS)
def test_a_gate_counts_the_minutes_since_the_restart_by_the_clock_that_published_them(skew: float) -> None:
    model = Skewed(skew=skew)
    began = model.now()
    run(model)
    before, *gates = model.since
    assert before < began
    assert len(gates) >= len(model.restarts) == 3
    assert all(since >= began for since in gates)


def test_no_decision_reads_the_clock_of_this_machine() -> None:
    rooms: dict[str, Any] = {
        str(path.relative_to(PROJECT / "warmbase")): path.read_text(encoding="utf-8")
        for room in ("cli", "operations")
        for path in (PROJECT / "warmbase" / room).rglob("*.py")
        if "on_node" not in path.parts
    }
    reading = {name for name, text in rooms.items() if re.search(r"\btime\.time\b|datetime\.now\(|\.utcnow\(", text)}
    assert reading == RECORDS
