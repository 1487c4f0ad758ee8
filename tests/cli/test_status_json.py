"""Keys that `warmbase status` adds to a state: the deprecated key of a name, and when a release's support ends."""

from __future__ import annotations

from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from warmbase.cli.operate.status import LAYOUT, SUPPORT_WARNING
from warmbase.cli.operate.status import _document as document
from warmbase.cli.operate.status import _page as page
from warmbase.cli.operate.status import _support as support
from warmbase.facts.releases import releases
from warmbase.operations.cluster.state import ClusterState, EnvironmentState

CLUSTER = ClusterState(
    name="green",
    role="replica",
    cluster=None,
    launched_at=None,
    recorded=False,
    caches=None,
    boost=None,
    differences=None,
    silenced=(),
    topics=(),
    unprotected=(),
    unfinished=(),
    alarms=(),
    usd_per_month=None,
    why="no cluster runs",
)


STATE = EnvironmentState(environment="prod", at="2026-11-22", claim=None, claim_why="", clusters=(CLUSTER,))


def test_the_page_offers_to_explore_other_values() -> None:
    assert "\n\nNext: `warmbase explore prod` " in LAYOUT.text(page(STATE))


def test_a_cluster_has_its_name_under_both_keys() -> None:
    [cluster] = document(STATE)["clusters"]
    assert (cluster["name"], cluster["colour"]) == ("green", "green")


def running(label: str) -> ClusterState:
    return replace(CLUSTER, cluster=cast("Any", SimpleNamespace(release=label)))


LAST = releases()["emr-7.12.0"].support_until or date.max
DAYS = [
    (LAST - SUPPORT_WARNING - timedelta(days=1), None),
    (LAST - SUPPORT_WARNING, f"ends on or before {LAST}"),
    (LAST, f"ends on or before {LAST}"),
    (LAST + timedelta(days=1), f"ended on or before {LAST}"),
]


@pytest.mark.parametrize(("day", "says"), DAYS)
def test_the_end_of_support_is_announced_a_quarter_before(
    day: date, says: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warmbase.cli.operate.status.today", lambda: day)
    lines = " ".join(text for _, text in support(running("emr-7.12.0")))
    assert (says or "") in lines
    assert bool(lines) is (says is not None)


def test_a_release_before_the_table_is_past_its_support() -> None:
    assert "ended on or before 2026-11-20" in " ".join(text for _, text in support(running("emr-7.5.0")))


def test_nothing_is_announced_where_nothing_runs() -> None:
    assert list(support(CLUSTER)) == []
