"""The day is the machine's, unless a reproducible build states one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from warmbase.facts import today


def test_a_reproducible_build_has_the_day_of_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert today() == date(2023, 11, 14)


def test_otherwise_the_day_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert abs(today() - datetime.now(UTC).date()) <= timedelta(days=1)
