"""The parts of a page that proposes changes: each change with its impact, and the cost of all together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.changes.change import Change
from warmbase.changes.cost import ImpactCost
from warmbase.cli.page import Page, Paragraph, Part, Row
from warmbase.configurations.launch import Launch
from warmbase.configurations.properties.property import Applied
from warmbase.ground.units import format_duration, format_size, format_usd

CHANGES: Final = Page(label=9, cut=True)
"""The layout of these parts."""
SHORT: Final = 70
NOTHING: Final = "not set"


def change_parts(change: Change) -> Iterator[Part]:
    """Yield one change: property, old and new value, reason, and how it is applied."""
    groups = "" if len(change.groups) > 1 else f" ({change.groups[0]})"
    marked = ", an override" if change.overridden else ""
    yield f"  {change.classification} {change.key}{groups}{marked}"
    yield Paragraph(text=f"{_value(change.before)} -> {_value(change.after)}", indent=4)
    restarts = f"; restarts {change.restarts}" if change.restarts else ""
    if change.applied is Applied.LIVE and change.classification == "hbase-site":
        restarts = "; edit hbase-site.xml on each node, then run update_all_config (EMR itself would restart HBase)"
    emptied = "; the cache is lost" if change.empties_cache else ""
    yield Paragraph(text=f"{change.why}{restarts}{emptied}", indent=4)


def _value(text: str | None) -> str:
    """Return the value as it is shown; a long list gets a blank after each comma, so that it can be wrapped."""
    if text is None:
        return NOTHING
    return text if len(text) <= SHORT else text.replace(",", ", ")


def impact_rows(cost: ImpactCost, launch: Launch) -> Iterator[Row]:
    """Yield what it costs to apply a set of changes: time, cache and dollars."""
    if cost.applied is Applied.NEW_CLUSTER:
        warm_up = f"{format_duration(cost.warm_up_seconds)} until the new cluster is warm (estimate)"
        yield "time", f"{warm_up}: tear down the old cluster, then launch the new one"
        yield "never", "run two active clusters on one root: that corrupts the data"
    elif cost.restart_seconds:
        one_server = format_duration(cost.restart_seconds / cost.region_servers)
        servers = f"{cost.region_servers} RegionServers restart one after the other, {one_server} each"
        yield "time", f"{format_duration(cost.restart_seconds)}: {servers} (estimate)"
    else:
        yield "time", "no RegionServer restarts"
    yield "cache", _cache(cost, launch)
    dollars = [
        f"{format_usd(cost.get_usd)} for S3 GETs" if cost.get_usd else "",
        f"{format_usd(cost.node_usd)} for two sets of nodes during the change" if cost.node_usd else "",
    ]
    yield "dollars", ", ".join(filter(None, dollars)) or "nothing"


def trino_impact_rows(cost: ImpactCost) -> Iterator[Row]:
    """Yield what it costs an analytics cluster to apply a set of changes."""
    if cost.applied is Applied.NEW_CLUSTER:
        warm = format_duration(cost.warm_up_seconds)
        yield "time", f"the caches of the new cluster are warm after {warm} of queries (estimate)"
        yield "cache", "all of it lost with the old cluster"
        return
    restarts = cost.applied is Applied.ROLLING_RESTART
    yield "time", "EMR restarts Trino on each node, which ends running queries" if restarts else "nothing restarts"
    lost_bytes = cost.cache_lost_bytes
    if lost_bytes is None:
        yield "cache", "removed workers lose theirs"
    else:
        yield "cache", f"{format_size(lost_bytes)} lost with the removed workers" if lost_bytes else "kept"


def _cache(cost: ImpactCost, launch: Launch) -> str:
    if cost.cache_lost_bytes == 0:
        return "kept"
    size = "all of it" if cost.cache_lost_bytes is None else format_size(cost.cache_lost_bytes)
    if not cost.warm_up_seconds:
        return f"{size} lost with the {'old cluster' if cost.applied is Applied.NEW_CLUSTER else 'removed nodes'}"
    cache = launch.plan.bucket_cache
    planned = format_size(cache.size_bytes * launch.plan.core.count) if cache else ""
    return f"{size} lost; filling the planned {planned} again takes {format_duration(cost.warm_up_seconds)} (estimate)"
