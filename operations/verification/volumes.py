"""Checks of a boost: no cache volume stays raised, schedules restore raised ones, and EMR tolerates them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from operations.boost_state import BoostState, moment
from operations.cluster_boost import read_boost
from operations.verification.check import Check, CheckResult, HBaseContext

RUNNING: Final = "RUNNING"


def _boost_ends(context: HBaseContext) -> Iterator[CheckResult]:
    """Check the volumes and schedules; the row about EMR is confirmed only while volumes are raised."""
    state = read_boost(context.aws, context.launch, context.cluster)
    if state is None:
        return
    environment = context.launch.plan.environment
    late = _late(state)
    yield Check(
        "end of a boost",
        "",
        "no cache volume is raised beyond its announced end",
        f"run warmbase warm boost {environment} --end; EC2 may still apply the last modification of a volume, and"
        " refuses another one until it has ended",
    ).result("; ".join(late) or f"{len(state.raised)} of {len(state.volumes)} are raised", good=not late)
    if not state.raised:
        return
    missing = [*state.unscheduled, *(name for name, way in state.ways_back.items() if not way.is_complete)]
    yield Check(
        "schedules of a boost",
        "",
        "each raised cache volume has all schedules that are still to fire",
        f"run warmbase warm boost {environment} again to write them anew, or run it with --end",
    ).result(f"missing for {', '.join(missing)}" if missing else "all exist", good=not missing)
    group = context.cluster.groups["core"]
    yield Check(
        "raised volumes and EMR",
        "EMR tolerates that a volume which it created has more throughput",
        "the core group is RUNNING while cache volumes are raised",
        f"run warmbase warm boost {environment} --end, and read the group's reason in EMR's console",
    ).result(f"{group.state} {group.why}".strip(), good=group.state == RUNNING)


def _late(state: BoostState) -> list[str]:
    """Return a text for each volume that should have been restored."""
    ways = state.ways_back
    overdue = [f"{name} was due at {moment(ways[name].announced_end)}" for name in state.overdue(time.time())]
    return [*overdue, *(f"{name} is raised, and no schedule restores it" for name in state.unscheduled)]


VOLUME_CHECKS: Final = (_boost_ends,)
"""Every check, in the order of the report."""
