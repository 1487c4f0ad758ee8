"""The sentences about volumes that a boost has raised: until when, at what price, and whether one is overdue."""

from __future__ import annotations

import time
from collections.abc import Iterator

from operations.boost_state import BoostState, moment, provision_text
from sizing.units import format_usd


def volumes_text(state: BoostState) -> str:
    """Return what the cache volumes are provisioned with, and until when and at what price they are raised."""
    provisions = sorted({volume.provision for volume in state.volumes.values()})
    line = f"{len(state.volumes)} cache volumes with {' or '.join(map(provision_text, provisions)) or 'nothing'} each"
    if not state.raised:
        return line
    until = "" if state.announced_end is None else f" until {moment(state.announced_end)}"
    return f"{line}; {len(state.raised)} raised{until}, at an extra {format_usd(state.usd_per_hour)} an hour (estimate)"


def boost_warnings(state: BoostState, environment: str) -> Iterator[str]:
    """Yield a warning about volumes that are raised beyond the announced end, and about those without a schedule."""
    command = f"To restore the throughput now: warmbase warm boost {environment} --end"
    if (overdue := state.overdue(time.time())) and state.ends_at is not None:
        attempt = f"the next attempt to restore the throughput is at {moment(state.ends_at)}"
        yield f"OVERDUE: {_volumes(overdue)} still raised after that time; {attempt}. {command}"
    if state.unscheduled:
        problem = "raised without a schedule that restores the throughput"
        yield f"OVERDUE: {_volumes(state.unscheduled)} {problem}. {command}"


def _volumes(names: tuple[str, ...]) -> str:
    return f"{len(names)} volumes are" if len(names) > 1 else "1 volume is"
