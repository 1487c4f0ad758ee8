"""A boost of the cache volumes of a running cluster, which ends even if no command runs again.

Before it raises the first volume, the boost creates schedules that restore each volume, and reads them again. So a
command that is killed leaves no volume raised without a schedule. EC2 refuses to modify a volume until its last
modification is `completed`, which can take hours. The volume then stays raised beyond the announced end, until a later
schedule restores it: each volume has three. EC2 reports only the latest modification, so a boost begins only if no
volume was modified within the last 24 hours. The increase and the three schedules are the four modifications that EBS
allows in that time.

Source: EC2 API Reference, ModifyVolume and DescribeVolumesModifications; EBS User Guide,
monitoring-volume-modifications (about 6 hours for a full volume of 1 TiB, more than 24 in some cases).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Protocol

from msgspec import Struct

from operations.boost_state import ATTEMPTS_SECONDS, BoostState, CacheVolume, WayBack, moment, provision_text
from operations.polling import turns
from operations.progress import Say, Stage
from sizing.gp3 import Provision
from sizing.problem import OperationFailed, Problem, Refused

WINDOW_SECONDS: Final = 24 * 3600.0
# judgement: a schedule must not fire while its volume is being raised.
MARGIN_SECONDS: Final = 300.0
SOON_SECONDS: Final = 600.0  # judgement: longer than it takes to restore all volumes one by one


class BoostControl(Protocol):
    """Reads and modifies the cache volumes of one cluster. Each method raises OperationFailed where AWS refuses."""

    def state(self) -> BoostState:
        """Return the volumes and the schedules as they are now."""

    def schedule(self, volume: str, provision: Provision, times: tuple[float, ...]) -> None:
        """Write the schedules that give the volume this provision at these times, in place of its other schedules."""

    def unschedule(self, volume: str) -> None:
        """Delete the schedules of a volume, if it has any."""

    def modify(self, volume: str, provision: Provision) -> None:
        """Give a volume this provision now."""


class BoostPatience(Struct, frozen=True, kw_only=True):
    """How long to wait until EC2 accepts a modification, and the pauses between two checks, in seconds."""

    modifiable: float = 900.0  # judgement: beyond that it takes hours, and the schedules restore the volume
    first_poll: float = 1.0
    poll: float = 15.0


class CacheBoost(Struct, frozen=True, kw_only=True):
    """The boost of all cache volumes to `provision` for so many seconds; `clock` is in seconds since 1970."""

    control: BoostControl
    provision: Provision
    seconds: float
    clock: Callable[[], float] = time.time

    def check(self, state: BoostState) -> None:
        """Raise Refused if a volume cannot be raised, or if it is not certain that it can be restored."""
        if problems := [problem for name, volume in state.volumes.items() for problem in self._of(name, volume, state)]:
            raise Refused(problems)

    def _of(self, name: str, volume: CacheVolume, state: BoostState) -> Iterator[Problem]:
        if volume.is_raised:
            if name not in state.ways_back:
                yield Problem(
                    where=name,
                    what=f"is raised to {provision_text(volume.provision)}, and no schedule restores it",
                    why=f"its cluster was launched with {provision_text(volume.launch_provision)}",
                    fix="restore it: run the same command with --end",
                )
        elif volume.is_changing:
            yield Problem(
                where=name,
                what=f"is {volume.modification}",
                why="EC2 modifies a volume only once its last modification is completed",
                fix="wait until then (EC2's console, volumes), and run the same command again",
            )
        elif volume.modified_at is not None and self.clock() - volume.modified_at < WINDOW_SECONDS:
            yield Problem(
                where=name,
                what=f"was modified at {moment(volume.modified_at)}",
                why="EBS allows four modifications of a volume in 24 hours and reports only the latest, so EC2 might"
                " refuse to restore this one",
                fix=f"run the same command again after {moment(volume.modified_at + WINDOW_SECONDS)}",
            )

    def stages(self) -> Iterator[Stage]:
        """Yield the stages. Each first checks what is left to do, so an interrupted boost continues."""
        until = self.clock() + self.seconds
        yield Stage(title=f"schedule the end of the boost for {moment(until)}", act=partial(self._schedule, until))
        yield Stage(title=f"raise the cache volumes to {provision_text(self.provision)}", act=self._raise)

    def _schedule(self, until: float, say: Say) -> str:
        state = self.control.state()
        self.check(state)
        times = tuple(until + seconds for seconds in ATTEMPTS_SECONDS)
        for number, (name, volume) in enumerate(state.volumes.items(), 1):
            known = state.ways_back.get(name)
            before = known.provision if volume.is_raised and known is not None else volume.provision
            self.control.schedule(name, before, times)
            say(f"{number} of {len(state.volumes)} volumes scheduled")
        now = self.control.state()
        for name in state.volumes:
            self._certain(name, now)
        return f"{len(state.volumes)} volumes will be restored then, with {len(times)} attempts each"

    def _raise(self, say: Say) -> str:
        raised = 0
        for name in self.control.state().volumes:
            state = self.control.state()
            volume = state.volumes.get(name)
            if volume is None or volume.is_raised:
                continue
            self._certain(name, state)
            self.control.modify(name, self.provision)
            raised += 1
            say(f"{name} raised")
        end = self.control.state().ends_at
        already = "" if raised else "all of them were raised before; "
        return f"{already}{raised} volumes raised until {moment(end)}" if end else f"{already}{raised} volumes raised"

    def _certain(self, name: str, state: BoostState) -> None:
        """Raise OperationFailed if no schedule would restore the volume to its present or earlier provision."""
        volume, way = state.volumes.get(name), state.ways_back.get(name)
        if volume is None:
            return
        is_right = way is not None and (volume.is_raised or way.provision == volume.provision)
        if way is None or not is_right or way.at < self.clock() + MARGIN_SECONDS:
            raise OperationFailed.of(
                where=name,
                what="was not raised",
                why="no schedule would restore it" if way is None else f"its schedule fires at {moment(way.at)}",
                fix="run the same command again",
            )


class BoostEnd(Struct, frozen=True, kw_only=True):
    """The end of a boost on request: the volumes are restored, and the schedules deleted, which first come forward."""

    control: BoostControl
    patience: BoostPatience = BoostPatience()
    clock: Callable[[], float] = time.time

    def stages(self) -> Iterator[Stage]:
        """Yield the stages. Each first checks what is left to do, so an interrupted end continues."""
        yield Stage(title="bring the schedules forward", act=self._forward)
        yield Stage(title="restore the cache volumes", act=self._back)
        yield Stage(title="delete the schedules", act=self._clean)

    def _forward(self, say: Say) -> str:
        state, soon = self.control.state(), self.clock() + SOON_SECONDS
        for name, volume in state.raised.items():
            way = state.ways_back.get(name)
            if way is None or way.at > soon:
                times = tuple(soon + seconds for seconds in ATTEMPTS_SECONDS)
                self.control.schedule(name, _before(volume, way), times)
                say(f"{name} is restored at {moment(soon)} at the latest")
        return f"{len(state.raised)} raised volumes"

    def _back(self, say: Say) -> str:
        count = 0
        for name in self.control.state().volumes:
            count += self._one_back(name, say)
        return f"{count} volumes restored"

    def _one_back(self, name: str, say: Say) -> bool:
        """Wait until EC2 accepts it, restore a raised volume, and return whether it was raised."""
        reported = ""
        for _ in turns(self.patience.modifiable, self.patience.first_poll, self.patience.poll):
            state = self.control.state()
            volume = state.volumes.get(name)
            if volume is None or not volume.is_raised:
                return False
            if not volume.is_changing:
                self.control.modify(name, _before(volume, state.ways_back.get(name)))
                return True
            if volume.modification != reported:
                reported = str(volume.modification)
                say(f"{name} is {reported}: EC2 modifies it once that has ended")
        raise OperationFailed.of(
            where=name,
            what=f"is still {reported} after {self.patience.modifiable / 60:,.0f} minutes",
            why="EC2 modifies a volume only once its last modification is completed, which can take hours",
            fix="no action is needed: its schedules try again within 10 minutes, after 6 hours and after 24; or run the"
            " same command again later",
        )

    def _clean(self, _: Say) -> str:
        state = self.control.state()
        if state.raised:
            raise OperationFailed.of(
                where=", ".join(state.raised),
                what="is raised again",
                why="another command or person has raised it since",
                fix="run the same command again",
            )
        for name in state.ways_back:
            self.control.unschedule(name)
        return f"the schedules of {len(state.ways_back)} volumes deleted"


def _before(volume: CacheVolume, way: WayBack | None) -> Provision:
    return volume.launch_provision if way is None else way.provision
