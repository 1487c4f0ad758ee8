"""The cache volumes of a cluster, which of them are raised by a boost, and the schedules that restore them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from operations.basis import Basis
from sizing.gp3 import Provision

ATTEMPTS_SECONDS: Final = (0.0, 6 * 3600.0, 24 * 3600.0)
"""When the schedules of a volume fire, counted from the announced end."""
# judgement: a schedule fires within a minute of its time, and EC2 reports what it has changed a little later.
FIRING_SECONDS: Final = 180.0


class CacheVolume(Struct, frozen=True, kw_only=True):
    """A cache volume: what it is provisioned with, and was at the launch of its cluster.

    `modified_at` is when its latest modification began, in seconds since 1970, and `modification` is the state of that
    modification; both are None for a volume that was never modified. `usd_per_hour` is the price of what it has above
    the provision of the launch.
    """

    provision: Provision
    launch_provision: Provision
    usd_per_hour: float = 0.0
    modified_at: float | None = None
    modification: str | None = None

    @property
    def is_raised(self) -> bool:
        """Return whether it has more than at the launch."""
        return any(now > before for now, before in zip(self.provision, self.launch_provision, strict=True))

    @property
    def is_changing(self) -> bool:
        """Return whether EC2 would refuse to modify it now."""
        return self.modification in {"modifying", "optimizing"}


class WayBack(Struct, frozen=True, kw_only=True):
    """The schedules of one volume: when the next one fires, in seconds since 1970, and what it provisions then.

    `attempt` is the number of that schedule, from 1. `remaining` counts it and the later ones.
    """

    at: float
    provision: Provision
    attempt: int = 1
    remaining: int = len(ATTEMPTS_SECONDS)

    @property
    def announced_end(self) -> float:
        """Return when the first of the schedules fires, or fired."""
        return self.at - ATTEMPTS_SECONDS[self.attempt - 1]

    @property
    def is_complete(self) -> bool:
        """Return whether no later schedule is missing."""
        return self.attempt + self.remaining - 1 == len(ATTEMPTS_SECONDS)


class BoostState(Struct, frozen=True, kw_only=True):
    """The cache volumes of a cluster by id, and the schedules that restore them."""

    volumes: Mapping[str, CacheVolume]
    ways_back: Mapping[str, WayBack]

    @property
    def raised(self) -> dict[str, CacheVolume]:
        """Return the volumes that have more than at the launch."""
        return {name: volume for name, volume in self.volumes.items() if volume.is_raised}

    @property
    def ends_at(self) -> float | None:
        """Return when the schedules restore the last raised volume; None if none is raised or scheduled."""
        return max((self.ways_back[name].at for name in self.raised if name in self.ways_back), default=None)

    @property
    def announced_end(self) -> float | None:
        """Return when the last raised volume was to be restored; None if none is raised or scheduled."""
        return max((self.ways_back[name].announced_end for name in self.raised if name in self.ways_back), default=None)

    @property
    def usd_per_hour(self) -> float:
        """Return what the raised volumes cost in an hour above what they cost at the launch."""
        return sum(volume.usd_per_hour for volume in self.raised.values())

    @property
    def unscheduled(self) -> tuple[str, ...]:
        """Return the raised volumes that no schedule restores."""
        return tuple(name for name in self.raised if name not in self.ways_back)

    def overdue(self, now: float) -> tuple[str, ...]:
        """Return the raised volumes whose announced end is before `now`, in seconds since 1970."""
        ends = {name: self.ways_back[name].announced_end for name in self.raised if name in self.ways_back}
        return tuple(name for name, end in ends.items() if end + FIRING_SECONDS < now)

    def json_fields(self) -> dict[str, object]:
        """Return the keys of `--output json`."""
        return {
            "volumes": sorted(self.volumes),
            "raised": sorted(self.raised),
            "announced_end": self.announced_end,
            "ends_at": self.ends_at,
            "overdue": self.overdue(time.time()),
            "unscheduled": self.unscheduled,
            "usd_per_hour": self.usd_per_hour,
        }

    @property
    def basis(self) -> Basis:
        """Return the facts that a proposal is made from."""
        return {
            f"volume {name}": f"{provision_text(volume.provision)}, {'' if name in self.ways_back else 'not '}scheduled"
            for name, volume in self.volumes.items()
        }


def moment(at: float) -> str:
    """Return a time in UTC, in words."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def provision_text(provision: Provision) -> str:
    """Return throughput and IOPS in words."""
    throughput_mib_s, iops = provision
    return f"{throughput_mib_s:,} MiB/s and {iops:,} IOPS"
