"""A boost ends without another command: wherever it is killed, nothing stays raised for longer than announced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec import field
from msgspec.structs import replace

from tests.operations.deployed import Cut
from tests.operations.killable import Killable, Killed
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.boost import (
    ATTEMPTS_SECONDS,
    MARGIN_SECONDS,
    WINDOW_SECONDS,
    BoostEnd,
    BoostPatience,
    BoostState,
    CacheBoost,
    CacheVolume,
    WayBack,
)
from warmbase.sizing.gp3 import Provision

LAUNCHED, RAISED = (125, 3000), (500, 3000)
HOUR = 3600.0
QUICK = BoostPatience(modifiable=0.05, first_poll=0.001, poll=0.001)


class Model(Killable, dict=True):
    """Three volumes and their schedules, with EC2's limits; `now` is moved by the tests."""

    now: float = 10 * WINDOW_SECONDS
    optimizing: float = 0.0
    volumes: dict[str, Provision] = field(default_factory=lambda: dict.fromkeys(("a", "b", "c"), LAUNCHED))
    modified: dict[str, list[float]] = field(default_factory=dict)
    schedules: dict[tuple[str, int], tuple[float, Provision]] = field(default_factory=dict)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Check after each call that no volume is raised without a schedule."""
        with super().call():
            yield
            for name, provision in self.volumes.items():
                assert provision == LAUNCHED or any(key[0] == name for key in self.schedules), (
                    "raised without a schedule"
                )

    def clock(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass; a schedule whose call EC2 refuses does not try again."""
        end = self.now + seconds
        for key, (at, provision) in sorted(self.schedules.items(), key=lambda item: item[1][0]):
            if at <= end:
                self.now = max(self.now, at)
                del self.schedules[key]
                if not self.refuses(key[0]):
                    self.change(key[0], provision)
        self.now = end

    def refuses(self, name: str) -> bool:
        """Return whether EC2 refuses to modify the volume now."""
        times = self.modified.get(name, [])
        is_changing = bool(times) and self.now - times[-1] < self.optimizing
        return is_changing or sum(self.now - at < WINDOW_SECONDS for at in times) >= 4

    def change(self, name: str, provision: Provision) -> None:
        self.modified.setdefault(name, []).append(self.now)
        self.volumes[name] = provision

    def state(self) -> BoostState:
        with self.call():
            ways: dict[str, WayBack] = {}
            for (name, _), (at, provision) in sorted(self.schedules.items(), key=lambda item: item[1][0]):
                ways.setdefault(name, WayBack(at=at, provision=provision))
            return BoostState(volumes={name: self.volume(name) for name in self.volumes}, ways_back=ways)

    def volume(self, name: str) -> CacheVolume:
        times = self.modified.get(name)
        state = None if not times else "optimizing" if self.now - times[-1] < self.optimizing else "completed"
        return CacheVolume(
            provision=self.volumes[name],
            launch_provision=LAUNCHED,
            modified_at=times[-1] if times else None,
            modification=state,
        )

    def schedule(self, volume: str, provision: Provision, times: tuple[float, ...]) -> None:
        for number, at in enumerate(times):
            with self.call():
                self.schedules[volume, number] = (at, provision)

    def unschedule(self, volume: str) -> None:
        with self.call():
            for key in [key for key in self.schedules if key[0] == volume]:
                del self.schedules[key]

    def modify(self, volume: str, provision: Provision) -> None:
        with self.call():
            assert not self.refuses(volume)
            self.change(volume, provision)


def boost(model: Model, seconds: float = 2 * HOUR) -> None:
    carry_out(CacheBoost(control=model, provision=RAISED, seconds=seconds, clock=model.clock).stages(), Cut())


def end(model: Model) -> None:
    carry_out(BoostEnd(control=model, patience=QUICK, clock=model.clock).stages(), Cut())


def calls_of(*commands: object) -> int:
    model = Model()
    for command in commands:
        command(model)  # type: ignore[operator]
    return model.calls


BOOST_CALLS, END_CALLS = calls_of(boost), calls_of(boost, end)


def test_every_volume_is_raised_and_goes_back_by_itself() -> None:
    model = Model()
    boost(model)
    assert set(model.volumes.values()) == {RAISED}
    model.advance(2 * HOUR)
    assert set(model.volumes.values()) == {LAUNCHED}


@pytest.mark.parametrize("kill_before", [True, False])
@pytest.mark.parametrize("kill_at", range(1, BOOST_CALLS + 1))
def test_killed_anywhere_nothing_stays_raised_longer_than_announced(kill_at: int, *, kill_before: bool) -> None:
    model = Model(kill_at=kill_at, kill_before=kill_before)
    with pytest.raises(Killed):
        boost(model)
    model.advance(2 * HOUR)
    assert set(model.volumes.values()) == {LAUNCHED}


@pytest.mark.parametrize("kill_before", [True, False])
@pytest.mark.parametrize("kill_at", range(1, BOOST_CALLS + 1))
def test_killed_anywhere_and_run_again_it_is_whole_and_ends(kill_at: int, *, kill_before: bool) -> None:
    model = Model(kill_at=kill_at, kill_before=kill_before)
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
        model = Model(kill_at=kill_at, kill_before=kill_before)
        boost(model)
        with pytest.raises(Killed):
            end(model)
        if is_run_again:
            end(model)
            assert model.schedules == {}
        model.advance(2 * HOUR)
        assert set(model.volumes.values()) == {LAUNCHED}


def test_running_it_again_extends_the_time_and_modifies_nothing() -> None:
    model = Model()
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
    model = Model(optimizing=hours * HOUR)
    boost(model)
    model.advance(2 * HOUR + ATTEMPTS_SECONDS[-1])
    assert set(model.volumes.values()) == {LAUNCHED}
    assert all(len(times) <= 4 for times in model.modified.values())


def test_ending_waits_no_longer_than_its_patience_and_leaves_the_schedules() -> None:
    model = Model(optimizing=5 * HOUR)
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
    model = Model(optimizing=optimizing)
    model.modified["b"] = [model.now - ago]
    with pytest.raises(Refused, match=match):
        boost(model)
    assert model.schedules == {}
    model.advance(WINDOW_SECONDS)
    boost(model)


def test_a_raised_volume_without_a_schedule_is_refused_and_can_be_taken_back() -> None:
    state = Model().state()
    volumes = {**state.volumes, "a": replace(state.volumes["a"], provision=RAISED)}
    model = Model()
    with pytest.raises(Refused, match="no schedule restores it"):
        CacheBoost(control=model, provision=RAISED, seconds=HOUR).check(replace(state, volumes=volumes))
    model.volumes["a"] = RAISED
    model.schedules["a", 0] = (model.now + HOUR, LAUNCHED)
    end(model)
    assert set(model.volumes.values()) == {LAUNCHED}


def test_nothing_is_raised_once_the_time_is_nearly_over() -> None:
    model = Model()
    stages = list(CacheBoost(control=model, provision=RAISED, seconds=HOUR, clock=model.clock).stages())
    carry_out(stages[:1], Cut())
    model.advance(HOUR - MARGIN_SECONDS + 1)
    with pytest.raises(OperationFailed, match="was not raised"):
        carry_out(stages[1:], Cut())
    assert set(model.volumes.values()) == {LAUNCHED}
