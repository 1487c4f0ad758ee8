"""The changes of a cluster as text of at most 80 columns: each change with its impact, and the cost of all together.

`page_entry` formats one entry of a page that proposes something: a name at the left, its text at the right.
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Final

from warmbase.changes.change import Change
from warmbase.changes.cost import ImpactCost
from warmbase.configurations.launch import Launch
from warmbase.configurations.properties.property import Applied
from warmbase.ground.units import format_duration, format_size, format_usd
from warmbase.reports.amounts import printable

WIDTH: Final = 80
SHORT: Final = 70
NOTHING: Final = "not set"


def change_lines(change: Change) -> Iterable[str]:
    """Yield the lines of one change: property, old and new value, reason, and how it is applied."""
    groups = "" if len(change.groups) > 1 else f" ({change.groups[0]})"
    marked = ", an override" if change.overridden else ""
    yield f"  {change.classification} {change.key}{groups}{marked}"
    yield from wrapped(f"{_value(change.before)} -> {_value(change.after)}")
    restarts = f"; restarts {change.restarts}" if change.restarts else ""
    if change.applied is Applied.LIVE and change.classification == "hbase-site":
        restarts = "; edit hbase-site.xml on each node, then run update_all_config (EMR itself would restart HBase)"
    emptied = "; the cache is lost" if change.empties_cache else ""
    yield from wrapped(f"{change.why}{restarts}{emptied}")


def wrapped(text: str) -> list[str]:
    """Return the text in lines that are indented by four blanks."""
    return wrap(printable(text), WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _value(text: str | None) -> str:
    """Return the value as it is shown; a long list gets a blank after each comma, so that it can be wrapped."""
    if text is None:
        return NOTHING
    return text if len(text) <= SHORT else text.replace(",", ", ")


def cost_lines(cost: ImpactCost, launch: Launch) -> Iterable[str]:
    """Yield the lines that say what it costs to apply a set of changes: time, cache and dollars."""
    if cost.applied is Applied.NEW_CLUSTER:
        warm_up = f"{format_duration(cost.warm_up_seconds)} until the new cluster is warm (estimate)"
        yield from _entry("time", f"{warm_up}: tear down the old cluster, then launch the new one")
        yield from _entry("never", "run two active clusters on one root: that corrupts the data")
    elif cost.restart_seconds:
        one_server = format_duration(cost.restart_seconds / cost.region_servers)
        servers = f"{cost.region_servers} RegionServers restart one after the other, {one_server} each"
        yield from _entry("time", f"{format_duration(cost.restart_seconds)}: {servers} (estimate)")
    else:
        yield from _entry("time", "no RegionServer restarts")
    yield from _entry("cache", _cache(cost, launch))
    yield from _entry("dollars", _dollars(cost))


def trino_cost_lines(cost: ImpactCost) -> Iterable[str]:
    """Yield the lines that say what it costs an analytics cluster to apply a set of changes."""
    if cost.applied is Applied.NEW_CLUSTER:
        warm = format_duration(cost.warm_up_seconds)
        yield from _entry("time", f"the caches of the new cluster are warm after {warm} of queries (estimate)")
        yield from _entry("cache", "all of it lost with the old cluster")
        return
    restarts = cost.applied is Applied.ROLLING_RESTART
    time = "EMR restarts Trino on each node, which ends running queries" if restarts else "nothing restarts"
    yield from _entry("time", time)
    yield from _entry("cache", _trino_cache(cost.cache_lost_bytes))


def _trino_cache(lost_bytes: int | None) -> str:
    if lost_bytes is None:
        return "removed workers lose theirs"
    return f"{format_size(lost_bytes)} lost with the removed workers" if lost_bytes else "kept"


def _cache(cost: ImpactCost, launch: Launch) -> str:
    if cost.cache_lost_bytes == 0:
        return "kept"
    size = "all of it" if cost.cache_lost_bytes is None else format_size(cost.cache_lost_bytes)
    if not cost.warm_up_seconds:
        return f"{size} lost with the {'old cluster' if cost.applied is Applied.NEW_CLUSTER else 'removed nodes'}"
    cache = launch.plan.bucket_cache
    planned = format_size(cache.size_bytes * launch.plan.core.count) if cache else ""
    return f"{size} lost; filling the planned {planned} again takes {format_duration(cost.warm_up_seconds)} (estimate)"


def _dollars(cost: ImpactCost) -> str:
    parts = [
        f"{format_usd(cost.get_usd)} for S3 GETs" if cost.get_usd else "",
        f"{format_usd(cost.node_usd)} for two sets of nodes during the change" if cost.node_usd else "",
    ]
    return ", ".join(filter(None, parts)) or "nothing"


def _entry(name: str, text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=f"  {name:<9}", subsequent_indent=" " * 11, break_on_hyphens=False)


def page_entry(name: str, text: str) -> list[str]:
    """Return the lines of an entry; an empty name continues the entry before."""
    return wrap(
        printable(text),
        WIDTH,
        initial_indent=f"  {name:<10}",
        subsequent_indent=" " * 12,
        break_on_hyphens=False,
        break_long_words=False,
    )
