"""The bad hours of a cluster: its caches are cold, it has lost a node, or it is loaded for the first time."""

from __future__ import annotations

from msgspec import Struct

from sizing.candidate import Candidate
from sizing.initial_load import LoadSetting, initial_load_seconds, initial_load_settings
from sizing.node_loss import LostNode, lost_node
from sizing.node_replacement import ReplacedNode, replaced_node

__all__ = ["BadHours", "ColdHours", "bad_hours"]


class ColdHours(Struct, frozen=True, kw_only=True):
    """All nodes with empty caches under the load, as after a launch or a change of the cache's size.

    `reads_per_second` and `gets_per_second` are the rates at the start, and `bottleneck` limits them. An open load is
    served in full after `carried_seconds`, from `least_hit_ratio` on; both are None if that never happens, and for a
    closed load. `course` has (hours, hit ratio, reads a second).
    """

    reads_per_second: float
    gets_per_second: float
    bottleneck: str
    least_hit_ratio: float | None
    carried_seconds: float | None
    course: tuple[tuple[float, float, float], ...]


class BadHours(Struct, frozen=True, kw_only=True):
    """The bad hours of a cluster; `cold` is None without a cache, the figures of a node are None for a single node.

    `initial_load_seconds` is a bound for loading all data by puts, by what the network and the log's volume carry.
    `initial_load_settings` are the settings of the tables meanwhile.
    """

    cold: ColdHours | None
    lost_node: LostNode | None
    replaced_node: ReplacedNode | None
    initial_load_seconds: float
    initial_load_settings: tuple[LoadSetting, ...]


def bad_hours(candidate: Candidate) -> BadHours:
    """Return the bad hours of a candidate with all its nodes."""
    return BadHours(
        cold=_cold_hours(candidate),
        lost_node=lost_node(candidate),
        replaced_node=replaced_node(candidate),
        initial_load_seconds=initial_load_seconds(candidate),
        initial_load_settings=initial_load_settings(candidate.question.mode),
    )


def _cold_hours(candidate: Candidate) -> ColdHours | None:
    start = candidate.cold
    if start is None:
        return None
    now = start.served(0.0)
    return ColdHours(
        reads_per_second=now.reads_per_second,
        gets_per_second=now.reads_per_second * start.read.blocks if candidate.question.mode.keeps_data_in_s3 else 0.0,
        bottleneck=now.bottleneck,
        least_hit_ratio=start.least_hit_ratio,
        carried_seconds=start.course.carried_seconds,
        course=start.course.points,
    )
