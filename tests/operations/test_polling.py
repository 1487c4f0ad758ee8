"""How often something is asked for, and for how long."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from warmbase.operations.aws.progress import turns


def test_pauses_grow_to_the_longest_and_end_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    clock = SimpleNamespace(sleep=slept.append, monotonic=lambda: sum(slept))
    monkeypatch.setattr("warmbase.operations.aws.progress.time", clock)
    assert len(list(turns(20.0, 1.0, 4.0))) == len(slept) + 1
    assert slept == [1.0, 1.5, 2.25, 3.375, 4.0, 4.0]
    assert sum(slept) <= 20.0 < sum(slept) + 4.0


def test_there_is_one_turn_though_there_is_no_time() -> None:
    assert len(list(turns(0.0, 1.0, 1.0))) == 1
