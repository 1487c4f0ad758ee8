"""A model of EC2's volumes and of the schedules that restore them, for the boost and its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat

from msgspec import Struct, field

from tests.operations.deployed import Cut
from tests.operations.killable import Killable
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.boost import (
    WINDOW_SECONDS,
    BoostEnd,
    BoostState,
    CacheBoost,
    CacheVolume,
    WayBack,
)
from warmbase.sizing.gp3 import Provision

LAUNCHED, RAISED = (125, 3000), (500, 3000)
HOUR = 3600.0
READING_SECONDS = 10.0


def readings(longest_seconds: float, *_: float) -> Iterator[None]:
    """Yield a turn for each reading of the time, in place of `turns`, which sleeps between them."""
    yield from repeat(None, 1 + round(longest_seconds / READING_SECONDS))


class Modification(Struct, frozen=True):
    """A modification that EC2 has accepted: when, from what, and to what."""

    at: float
    original: Provision
    target: Provision


class BoostModel(Killable, dict=True):
    """Three volumes and their schedules, with EC2's limits; tests move `now`, and so does each reading, by `tick`.

    A modification is `modifying` and then `optimizing` for so many seconds; while it is `modifying`, the volume is
    described as before. Volumes are described as they were `lag` seconds ago.
    """

    now: float = 10 * WINDOW_SECONDS
    tick: float = 0.0
    lag: float = 0.0
    modifying: float = 0.0
    optimizing: float = 0.0
    names: tuple[str, ...] = ("a", "b", "c")
    modified: dict[str, list[Modification]] = field(default_factory=dict)
    schedules: dict[tuple[str, int], tuple[float, Provision]] = field(default_factory=dict)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Check after each call that no volume is raised, or becomes raised, without a schedule."""
        with super().call():
            yield
            for name, provision in self.volumes.items():
                assert provision <= LAUNCHED or any(key[0] == name for key in self.schedules), (
                    "raised without a schedule"
                )

    @property
    def volumes(self) -> dict[str, Provision]:
        """Return what each volume has, or will have once EC2 has ended its modification, whatever it describes."""
        return {name: self.modified[name][-1].target if self.modified.get(name) else LAUNCHED for name in self.names}

    def clock(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass; a schedule whose call EC2 refuses does not try again."""
        end = self.now + seconds
        for key, (at, provision) in sorted(self.schedules.items(), key=lambda item: item[1][0]):
            if at <= end:
                self.now = max(self.now, at)
                del self.schedules[key]
                if not self.is_changing(key[0]) and not self.is_exhausted(key[0]):
                    self.change(key[0], provision)
        self.now = end

    def is_changing(self, name: str) -> bool:
        """Return whether EC2 refuses to modify the volume because of its last modification."""
        times = self.modified.get(name, [])
        return bool(times) and self.now - times[-1].at < self.modifying + self.optimizing

    def is_exhausted(self, name: str) -> bool:
        """Return whether EC2 refuses to modify the volume because of its four last modifications."""
        return sum(self.now - one.at < WINDOW_SECONDS for one in self.modified.get(name, ())) >= 4

    def change(self, name: str, provision: Provision) -> None:
        """Accept a modification."""
        self.modified.setdefault(name, []).append(Modification(self.now, self.volumes[name], provision))

    def state(self) -> BoostState:
        self.advance(self.tick)
        with self.call():
            ways: dict[str, WayBack] = {}
            for (name, _), (at, provision) in sorted(self.schedules.items(), key=lambda item: item[1][0]):
                ways.setdefault(name, WayBack(at=at, provision=provision))
            return BoostState(volumes={name: self.volume(name) for name in self.names}, ways_back=ways, at=self.now)

    def volume(self, name: str) -> CacheVolume:
        """Return what EC2 describes."""
        then = self.now - self.lag
        latest = next((one for one in reversed(self.modified.get(name, [])) if one.at <= then), None)
        if latest is None:
            return CacheVolume(provision=LAUNCHED, launch_provision=LAUNCHED)
        age = then - latest.at
        is_modifying = age < self.modifying
        is_completed = age >= self.modifying + self.optimizing
        return CacheVolume(
            provision=latest.original if is_modifying else latest.target,
            launch_provision=LAUNCHED,
            modified_at=latest.at,
            modification="modifying" if is_modifying else "completed" if is_completed else "optimizing",
            target=latest.target,
        )

    def schedule(self, volume: str, provision: Provision, times: tuple[float, ...]) -> None:
        for number, at in enumerate(times):
            with self.call():
                self.schedules[volume, number] = (at, provision)

    def unschedule(self, volume: str) -> None:
        with self.call():
            for key in [key for key in self.schedules if key[0] == volume]:
                del self.schedules[key]

    def modify(self, volume: str, provision: Provision) -> bool:
        with self.call():
            if self.is_changing(volume):
                return False
            assert not self.is_exhausted(volume)
            self.change(volume, provision)
            return True


def boosting(model: BoostModel, seconds: float = 2 * HOUR) -> CacheBoost:
    return CacheBoost(control=model, provision=RAISED, seconds=seconds)


def boost(model: BoostModel, seconds: float = 2 * HOUR) -> None:
    carry_out(boosting(model, seconds).stages(), Cut())


def end(model: BoostModel) -> None:
    carry_out(BoostEnd(control=model).stages(), Cut())
