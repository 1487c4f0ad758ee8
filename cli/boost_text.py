"""The sentences about a boost: how much faster a fill would be, for which price, and what would limit it next."""

from __future__ import annotations

from collections.abc import Mapping
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


def boost_text(plan: Plan) -> str:
    """Return the time of a fill without reads, and with each boost; empty where no EBS volume has a cache."""
    server = plan.warm_up.server
    if server is None:
        return ""
    now = server.time(server.volume.throughput_mib_s, server.sustained)
    fill = f"a fill without reads takes {format_duration(now.seconds)}"
    if not plan.warm_up.boosts:
        return f"{fill}; more throughput would not shorten it: the limit is {limits_text(now.limits)}"
    return f"{fill}; {'; '.join(_with_boost(boost) for boost in plan.warm_up.boosts)} (estimates)"


def _with_boost(boost: Boost) -> str:
    return (
        f"{format_duration(boost.seconds)} with {boost.throughput_mib_s:,} MiB/s {LEVELS[boost.level]}, for "
        f"{format_usd(boost.usd_per_hour)} an hour"
    )


def limits_text(limits: tuple[FillLimit, ...]) -> str:
    """Return the names of limits in words."""
    return " and ".join(LIMITS[limit] for limit in limits)
