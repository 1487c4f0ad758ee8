"""Changes of a cluster as lines of 80 columns: each with its impact, all together with their cost."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Final

from changes.change import Change
from changes.cost import ImpactCost
from configurations.launch import Launch
from configurations.properties.property import Applied
from reports.amounts import printable
from sizing.units import format_duration, format_size, format_usd

__all__ = ["WIDTH", "change_lines", "cost_lines", "wrapped"]

WIDTH: Final = 80
SHORT: Final = 70
NOTHING: Final = "not stated"


def change_lines(change: Change) -> Iterable[str]:
    """Yield what it is, from what to what, why, and what it takes."""
    groups = "" if len(change.groups) > 1 else f" ({change.groups[0]})"
    marked = ", an override" if change.overridden else ""
    yield f"  {change.classification} {change.key}{groups}{marked}"
    yield from wrapped(f"{_value(change.before)} -> {_value(change.after)}")
    restarts = f"; restarts {change.restarts}" if change.restarts else ""
    if change.applied is Applied.LIVE and change.classification == "hbase-site":
        restarts = "; by update_all_config, once hbase-site.xml on each node says so: EMR's own way restarts HBase"
    emptied = "; the cache is lost" if change.empties_cache else ""
    yield from wrapped(f"{change.why}{restarts}{emptied}")


def wrapped(text: str) -> list[str]:
    """Indented by four."""
    return wrap(printable(text), WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _value(text: str | None) -> str:
    """Long lists break behind their commas."""
    if text is None:
        return NOTHING
    return text if len(text) <= SHORT else text.replace(",", ", ")


def cost_lines(cost: ImpactCost, launch: Launch) -> Iterable[str]:
    """Time, cache and dollars of applying a set of changes."""
    if cost.applied is Applied.NEW_CLUSTER:
        beside = f"{format_duration(cost.warm_up_seconds)} until it is warm (estimate)"
        yield from _entry("time", f"{beside}: a replica beside the old one, promoted when that has ended")
        yield from _entry("never", "two active clusters on one root: that corrupts the data")
    elif cost.restart_seconds:
        each = cost.restart_seconds / cost.region_servers
        said = f"{cost.region_servers} RegionServers, one after the other, {format_duration(each)} each"
        yield from _entry("time", f"{format_duration(cost.restart_seconds)}: {said} (estimate)")
    else:
        yield from _entry("time", "no RegionServer restarts")
    yield from _entry("cache", _cache(cost, launch))
    yield from _entry("dollars", _dollars(cost))


def _cache(cost: ImpactCost, launch: Launch) -> str:
    if cost.cache_lost_bytes == 0:
        return "kept"
    size = "all of it" if cost.cache_lost_bytes is None else format_size(cost.cache_lost_bytes)
    if not cost.warm_up_seconds:
        return f"{size} lost, with the nodes that go"
    cache = launch.plan.bucket_cache
    planned = format_size(cache.size_bytes * launch.plan.core.count) if cache else ""
    return f"{size} lost; the planned {planned} take {format_duration(cost.warm_up_seconds)} to prefetch (estimate)"


def _dollars(cost: ImpactCost) -> str:
    parts = [
        f"{format_usd(cost.get_usd)} of GETs" if cost.get_usd else "",
        f"{format_usd(cost.node_usd)} of nodes side by side" if cost.node_usd else "",
    ]
    return ", ".join(filter(None, parts)) or "nothing"


def _entry(name: str, text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=f"  {name:<9}", subsequent_indent=" " * 11, break_on_hyphens=False)
