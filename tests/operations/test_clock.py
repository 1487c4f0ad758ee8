"""The time of AWS is the date of its last answer and what has passed since, whatever this machine's clock says."""

from __future__ import annotations

import time
from typing import Any

import pytest
from moto import mock_aws

from tests.operations.mocked_aws import VARIABLES
from warmbase.operations.aws.clients import Aws

DATE, SECONDS = "Tue, 01 Jan 2030 00:00:00 GMT", 1_893_456_000.0


def note(aws: Aws, **headers: str) -> None:
    aws._note_date(parsed={"ResponseMetadata": {"HTTPHeaders": headers}})


@pytest.mark.parametrize("later", [{}, {"date": "yesterday"}, {"expires": DATE}], ids=["none", "no date", "another"])
def test_the_time_goes_on_from_the_last_date(later: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    aws, now = Aws(VARIABLES), 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    note(aws, date=DATE)
    assert aws.now() == SECONDS
    now += 90
    note(aws, **later)
    aws._note_date(parsed={})
    assert aws.now() == SECONDS + 90


def test_without_an_answer_it_asks_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    aws, asked = Aws(VARIABLES), list[Any]()

    def caller(one: Aws) -> str:
        asked.append(one)
        note(one, date=DATE)
        return "arn"

    monkeypatch.setattr(Aws, "caller", property(caller))
    assert aws.now() == pytest.approx(SECONDS, abs=5)
    assert asked == [aws]


def test_an_answer_without_a_date_leaves_the_clock_of_this_machine() -> None:
    with mock_aws():
        assert Aws(VARIABLES).now() == pytest.approx(time.time(), abs=60)
