"""The sentences about a boost: how much faster a fill would be, and at what price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

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
    """Return the time of a fill without reads: without a boost, and with each boost or the `most` fastest ones.

    The text is empty if no EBS volume holds a cache.
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
