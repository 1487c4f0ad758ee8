"""A boost ends without another command: wherever it is killed, nothing stays raised for longer than announced."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from tests.operations.boost_model import (
    HOUR,
    LAUNCHED,
    RAISED,
    READING_SECONDS,
    BoostModel,
    Modification,
    boost,
    boosting,
    end,
    readings,
)
from tests.operations.deployed import Cut
from tests.operations.killable import Killed
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster import boost as boost_module
from warmbase.operations.cluster.boost import (
    ATTEMPTS_SECONDS,
    FIRING_SECONDS,
    MARGIN_SECONDS,
    SOON_SECONDS,
    WINDOW_SECONDS,
    BoostEnd,
    BoostState,
    CacheVolume,
    WayBack,
)
from warmbase.sizing.gp3 import Provision


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boost_module, "turns", readings)


def calls_of(*commands: Callable[[BoostModel], None]) -> int:
    model = BoostModel()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boost_module, "turns", readings)
        for command in commands:
            command(model)
    return model.calls


SLOWEST: dict[str, Any] = {"tick": READING_SECONDS, "modifying": 60.0, "optimizing": 30.0, "lag": 30.0}
BOOST_CALLS, END_CALLS = calls_of(boost), calls_of(boost, end)


def test_every_volume_is_raised_and_goes_back_by_itself() -> None:
    model = BoostModel()
    boost(model)
    assert set(model.volumes.values()) == {RAISED}
    model.advance(2 * HOUR)
    assert set(model.volumes.values()) == {LAUNCHED}


@pytest.mark.parametrize("kill_before", [True, False])
@pytest.mark.parametrize("kill_at", range(1, BOOST_CALLS + 1))
def test_killed_anywhere_nothing_stays_raised_longer_than_announced(kill_at: int, *, kill_before: bool) -> None:
    model = BoostModel(kill_at=kill_at, kill_before=kill_before)
    with pytest.raises(Killed):
        boost(model)
    model.advance(2 * HOUR)
    assert set(model.volumes.values()) == {LAUNCHED}


@pytest.mark.parametrize("kill_before", [True, False])
@pytest.mark.parametrize("kill_at", range(1, BOOST_CALLS + 1))
def test_killed_anywhere_and_run_again_it_is_whole_and_ends(kill_at: int, *, kill_before: bool) -> None:
    model = BoostModel(kill_at=kill_at, kill_before=kill_before)
    with pytest.raises(Killed):
        boost(model)
    model.advance(HOUR)
    boost(model)
    assert set(model.volumes.values()) == {RAISED}
    assert all(len(times) == 1 for times in model.modified.values())
    model.advance(2 * HOUR)
    assert set(model.volumes.values()) == {LAUNCHED}


@pytest.mark.parametrize("kill_before", [True, False])
@pytest.mark.parametrize("kill_at", range(BOOST_CALLS + 1, END_CALLS + 1))
def test_an_end_that_is_killed_anywhere_ends_by_itself_or_when_run_again(kill_at: int, *, kill_before: bool) -> None:
    for is_run_again in (False, True):
        model = BoostModel(kill_at=kill_at, kill_before=kill_before)
        boost(model)
        with pytest.raises(Killed):
            end(model)
        if is_run_again:
            end(model)
            assert model.schedules == {}
        model.advance(2 * HOUR)
        assert set(model.volumes.values()) == {LAUNCHED}


def test_running_it_again_extends_the_time_and_modifies_nothing() -> None:
    model = BoostModel()
    boost(model)
    model.advance(HOUR)
    boost(model)
    assert all(len(times) == 1 for times in model.modified.values())
    model.advance(1.5 * HOUR)
    assert set(model.volumes.values()) == {RAISED}
    model.advance(0.5 * HOUR)
    assert set(model.volumes.values()) == {LAUNCHED}


@pytest.mark.parametrize("hours", [1, 5, 20])
def test_a_modification_that_takes_longer_than_the_boost_ends_at_a_later_attempt(hours: int) -> None:
    model = BoostModel(optimizing=hours * HOUR)
    boost(model)
    model.advance(2 * HOUR + ATTEMPTS_SECONDS[-1])
    assert set(model.volumes.values()) == {LAUNCHED}
    assert all(len(times) <= 4 for times in model.modified.values())


def test_ending_waits_no_longer_than_its_patience_and_leaves_the_schedules() -> None:
    model = BoostModel(optimizing=5 * HOUR)
    boost(model)
    with pytest.raises(OperationFailed, match="is still optimizing"):
        end(model)
    assert model.schedules
    model.advance(7 * HOUR)
    assert set(model.volumes.values()) == {LAUNCHED}


@pytest.mark.parametrize(
    ("optimizing", "ago", "match"),
    [(0, HOUR, "might refuse to restore this one"), (3 * WINDOW_SECONDS, 2 * WINDOW_SECONDS, "is optimizing")],
)
def test_a_volume_that_was_modified_lately_is_refused_before_anything_is_written(
    optimizing: float, ago: float, match: str
) -> None:
    model = BoostModel(optimizing=optimizing)
    model.modified["b"] = [Modification(model.now - ago, RAISED, LAUNCHED)]
    with pytest.raises(Refused, match=match):
        boost(model)
    assert model.schedules == {}
    model.advance(WINDOW_SECONDS)
    boost(model)


def test_a_raised_volume_without_a_schedule_is_refused_and_can_be_taken_back() -> None:
    state = BoostModel().state()
    volumes = {**state.volumes, "a": replace(state.volumes["a"], provision=RAISED)}
    model = BoostModel()
    with pytest.raises(Refused, match="no schedule restores it"):
        boosting(model).check(replace(state, volumes=volumes))
    model.change("a", RAISED)
    model.schedules["a", 0] = (model.now + HOUR, LAUNCHED)
    end(model)
    assert set(model.volumes.values()) == {LAUNCHED}


def test_a_volume_that_somebody_lowered_before_the_boost_goes_back_to_that() -> None:
    lowered = (100, 3000)
    for is_ended in (True, False):
        model = BoostModel()
        model.modified["b"] = [Modification(model.now - 2 * WINDOW_SECONDS, LAUNCHED, lowered)]
        boost(model)
        assert set(model.volumes.values()) == {RAISED}
        if is_ended:
            end(model)
        model.advance(2 * HOUR)
        assert model.volumes == {"a": LAUNCHED, "b": lowered, "c": LAUNCHED}


def test_schedules_that_an_earlier_boost_left_are_written_anew_for_what_the_volume_has() -> None:
    model = BoostModel()
    model.schedules["b", 0] = (model.now + HOUR, (100, 3000))
    boost(model)
    model.advance(2 * HOUR)
    assert set(model.volumes.values()) == {LAUNCHED}


def test_an_end_that_is_killed_after_its_first_stage_ends_soon_by_itself() -> None:
    model = BoostModel()
    boost(model)
    carry_out(list(BoostEnd(control=model).stages())[:1], Cut())
    model.advance(SOON_SECONDS)
    assert set(model.volumes.values()) == {LAUNCHED}


@pytest.mark.parametrize(("seconds", "overdue"), [(-1.0, ()), (FIRING_SECONDS, ()), (FIRING_SECONDS + 1, ("a",))])
def test_a_boost_is_overdue_once_its_first_schedule_should_have_fired(seconds: float, overdue: tuple[str, ...]) -> None:
    """The way back is the second attempt: the first one has fired, and EC2 has refused it."""
    end_at = 10 * WINDOW_SECONDS
    volume = CacheVolume(provision=RAISED, launch_provision=LAUNCHED)
    way = WayBack(at=end_at + ATTEMPTS_SECONDS[1], provision=LAUNCHED, attempt=2, remaining=2)
    found = BoostState(volumes={"a": volume}, ways_back={"a": way}, at=end_at + seconds)
    assert (found.overdue, found.announced_end, way.is_complete) == (overdue, end_at, True)


def test_nothing_is_raised_once_the_time_is_nearly_over() -> None:
    model = BoostModel()
    stages = list(boosting(model, HOUR).stages())
    carry_out(stages[:1], Cut())
    model.advance(HOUR - MARGIN_SECONDS + 1)
    with pytest.raises(OperationFailed, match="was not raised"):
        carry_out(stages[1:], Cut())
    assert set(model.volumes.values()) == {LAUNCHED}


SLOW = [
    pytest.param(modifying, optimizing, lag, id=f"modifying-{modifying}-optimizing-{optimizing}-lag-{lag}")
    for modifying in (0.0, 60.0)
    for optimizing in (0.0, 60.0)
    for lag in (0.0, 30.0)
]
"""How slow EC2 is, in seconds."""


@pytest.mark.parametrize(("modifying", "optimizing", "lag"), SLOW)
def test_an_end_right_after_the_increase_leaves_nothing_raised(modifying: float, optimizing: float, lag: float) -> None:
    model = BoostModel(tick=READING_SECONDS, modifying=modifying, optimizing=optimizing, lag=lag)
    boost(model)
    assert set(model.volumes.values()) == {RAISED}
    end(model)
    assert set(model.volumes.values()) == {LAUNCHED}
    assert model.schedules == {}
    assert all(len(modifications) == 2 for modifications in model.modified.values())


@pytest.mark.parametrize("is_ended", [True, False])
@pytest.mark.parametrize("kill_before", [True, False])
def test_a_slow_ec2_leaves_nothing_raised_wherever_a_command_is_killed(*, kill_before: bool, is_ended: bool) -> None:
    """The next command begins at once: EC2 shows an increase only while that command runs."""
    for kill_at in count(1):
        model = BoostModel(kill_at=kill_at, kill_before=kill_before, **SLOWEST)
        with suppress(Killed):
            boost(model)
            end(model)
        if model.calls < kill_at:
            assert kill_at > END_CALLS
            return
        for command in (end, end) if is_ended else (boost, end, end):
            with suppress(Refused, OperationFailed):
                command(model)
        model.advance(0 if is_ended else 2 * HOUR + ATTEMPTS_SECONDS[-1])
        assert set(model.volumes.values()) == {LAUNCHED}, kill_at
        assert all(len(modifications) <= 4 for modifications in model.modified.values()), kill_at


def test_an_increase_that_ec2_never_shows_is_not_reported_as_done() -> None:
    model = BoostModel(lag=HOUR)
    with pytest.raises(OperationFailed, match=r"is not raised(.|\n)*EC2 does not show the increase"):
        boost(model)
    model.advance(2 * HOUR)
    assert set(model.volumes.values()) == {LAUNCHED}


def test_a_volume_that_is_being_restored_is_not_taken_for_a_raised_one() -> None:
    model = BoostModel(modifying=60.0)
    boost(model)
    model.advance(2 * HOUR)
    volume = model.volume("a")
    assert (volume.provision, volume.modification, volume.is_raised, volume.is_restored) == (
        RAISED,
        "modifying",
        False,
        False,
    )
    with pytest.raises(Refused, match="is modifying"):
        boost(model)
    assert all(len(modifications) == 2 for modifications in model.modified.values())


@pytest.mark.parametrize(
    ("has", "modification", "target", "is_raised", "is_restored"),
    [
        (LAUNCHED, None, None, False, True),
        (LAUNCHED, "modifying", RAISED, True, False),
        (RAISED, "optimizing", RAISED, True, False),
        (RAISED, "completed", RAISED, True, False),
        (LAUNCHED, "failed", RAISED, False, True),
        (RAISED, "modifying", LAUNCHED, False, False),
        (RAISED, "failed", LAUNCHED, True, False),
        (LAUNCHED, "optimizing", LAUNCHED, False, True),
    ],
)
def test_a_volume_is_raised_by_what_its_modification_makes_of_it(
    has: Provision, modification: str | None, target: Provision | None, *, is_raised: bool, is_restored: bool
) -> None:
    volume = CacheVolume(provision=has, launch_provision=LAUNCHED, modification=modification, target=target)
    assert (volume.is_raised, volume.is_restored) == (is_raised, is_restored)


class Careless(BoostModel, dict=True):
    """A scheduler that loses the schedules of one volume, or writes them with another provision or too early."""

    fault: str = ""

    def schedule(self, volume: str, provision: Provision, times: tuple[float, ...]) -> None:
        if volume == "c" and self.fault == "lost":
            return
        if volume == "c" and self.fault == "early":
            times = (self.now + MARGIN_SECONDS - 1, *times[1:])
        wrong = (provision[0] + 25, provision[1])
        super().schedule(volume, wrong if volume == "c" and self.fault == "wrong" else provision, times)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("lost", "no schedule would restore it"),
        ("wrong", "its schedule would give it 150 MiB/s and 3,000 IOPS"),
        ("early", "its schedule fires at"),
    ],
)
def test_nothing_is_raised_unless_every_schedule_is_read_again_and_right(fault: str, why: str) -> None:
    model = Careless(fault=fault)
    with pytest.raises(OperationFailed, match=re.escape(why)):
        boost(model)
    assert set(model.volumes.values()) == {LAUNCHED}


def test_a_schedule_that_another_command_changed_is_noticed_before_its_volume_is_raised() -> None:
    model = BoostModel()
    stages = list(boosting(model).stages())
    carry_out(stages[:1], Cut())
    model.schedules["b", 0] = (model.schedules["b", 0][0], RAISED)
    with pytest.raises(OperationFailed, match="its schedule would give it 500 MiB/s"):
        carry_out(stages[1:], Cut())
    assert model.volumes == {"a": RAISED, "b": LAUNCHED, "c": LAUNCHED}


def test_a_volume_that_is_raised_again_keeps_its_schedules() -> None:
    model = BoostModel()
    boost(model)
    stages = list(BoostEnd(control=model).stages())
    carry_out(stages[:2], Cut())
    model.change("b", RAISED)
    with pytest.raises(OperationFailed, match=r"^b  is raised to 500 MiB/s and 3,000 IOPS, so the schedules stay"):
        carry_out(stages[2:], Cut())
    assert {name for name, _ in model.schedules} == {"a", "b", "c"}
