"""The sentences about a boost: how much faster a fill would be, for which price, and which volumes are raised now."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Final

from operations.boost_state import BoostState, moment, provision_text
from sizing.boost import Boost, FillLimit, Level
from sizing.plan import Plan
from sizing.units import format_duration, format_usd

LIMITS: Final[Mapping[FillLimit, str]] = {
    "s3-streams": "the prefetch threads",
    "network": "the network of the nodes",
    "s3-requests": "the request limit of S3",
    "volume": "the throughput of the volumes",
    "instance-ebs": "the EBS throughput of the nodes",
    "cache-writers": "the writer threads of the cache",
    "cpu": "the CPU",
}
LEVELS: Final[Mapping[Level, str]] = {
    "sustained": "at the rates that the nodes sustain",
    "burst": "while the nodes burst, 30 minutes a day",
}
SHORT_LEVELS: Final[Mapping[Level, str]] = {"sustained": "at the sustained limit", "burst": "in burst"}
LEAST_USD: Final = 0.01


def boost_text(plan: Plan, most: int | None = None) -> str:
    """Return the time of a fill without reads, and with each boost, or with so many of the fastest.

    Empty where no EBS volume has a cache.
    """
    server = plan.warm_up.server
    if server is None:
        return ""
    now = server.time(server.volume.throughput_mib_s, server.sustained)
    fill = f"{format_duration(now.seconds)} to fill without reads"
    if not plan.warm_up.boosts:
        return f"{fill}; more throughput would not shorten it: the limit is {limits_text(now.limits)}"
    command = f"`warmbase warm boost {plan.environment}`"
    return f"{fill}; {'; '.join(_with_boosts(plan.warm_up.boosts[-(most or 0) :]))} (estimates; {command})"


def _with_boosts(boosts: tuple[Boost, ...]) -> Iterator[str]:
    for number, boost in enumerate(boosts):
        raised = (
            f"with {'one' if number else 'a boost'} to {boost.throughput_mib_s:,} MiB/s {SHORT_LEVELS[boost.level]}"
        )
        cents = boost.usd_per_hour >= LEAST_USD
        usd = format_usd(boost.usd_per_hour) if cents else f"less than {format_usd(LEAST_USD)}"
        yield f"{format_duration(boost.seconds)} {raised}, {usd}/h"


def limits_text(limits: tuple[FillLimit, ...]) -> str:
    """Return the names of limits in words."""
    return " and ".join(LIMITS[limit] for limit in limits)


def volumes_text(state: BoostState) -> str:
    """Return what the cache volumes are provisioned with, and until when and for which price they are raised."""
    provisions = sorted({volume.provision for volume in state.volumes.values()})
    line = f"{len(state.volumes)} cache volumes with {' or '.join(map(provision_text, provisions)) or 'nothing'} each"
    if not state.raised:
        return line
    until = "" if state.announced_end is None else f" until {moment(state.announced_end)}"
    return f"{line}; {len(state.raised)} raised{until}, for {format_usd(state.usd_per_hour)} an hour more (estimate)"


def boost_warnings(state: BoostState, environment: str) -> Iterator[str]:
    """Yield a sentence about volumes that are raised beyond the announced end, and about those without a way back."""
    command = f"To take them back now: warmbase warm boost {environment} --end"
    if (overdue := state.overdue(time.time())) and state.ends_at is not None:
        attempt = f"the next attempt to take them back is at {moment(state.ends_at)}"
        yield f"OVERDUE: {_volumes(overdue)} still raised after that time; {attempt}. {command}"
    if state.unscheduled:
        yield f"OVERDUE: {_volumes(state.unscheduled)} raised without a schedule that goes back. {command}"


def _volumes(names: tuple[str, ...]) -> str:
    return f"{len(names)} volumes are" if len(names) > 1 else "1 volume is"
