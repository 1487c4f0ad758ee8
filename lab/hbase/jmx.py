"""The JMX beans that HBase's daemons serve over HTTP as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any, Final, Self
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import fields

from lab.machine.paths import HOST
from warmbase.configurations.metrics import MISSES_FOR_ONE

ANSWER_SECONDS: Final = 60.0
SERVER_BEAN: Final = "Hadoop:service=HBase,name=RegionServer,sub=Server"


def hit_ratio(hits: int, misses: int) -> float:
    """Return the share of block reads that the BucketCache answered, from HBase's counters; 0 without reads."""
    read = hits + misses / MISSES_FOR_ONE
    return hits / read if read else 0.0


class CacheCounters(Struct, frozen=True, kw_only=True):
    """A RegionServer's counters since its start. Counts of blocks and bytes are as of now."""

    l2_hits: int
    l2_misses: int
    l2_blocks: int
    l2_bytes: int
    l2_evictions: int
    failed_insertions: int
    l1_blocks: int
    reads: int
    regions: int

    def __add__(self, other: Self) -> CacheCounters:
        """Return the counters of two RegionServers together."""
        return CacheCounters(
            **{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        )

    @property
    def lookups(self) -> int:
        """Return the number of blocks that were looked up in the BucketCache."""
        return self.l2_hits + self.l2_misses // MISSES_FOR_ONE


def bean(port: int, name: str) -> Mapping[str, Any]:
    """Return the attributes of one bean; empty while nothing answers, or without such a bean."""
    connection = HTTPConnection(HOST, port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", f"/jmx?qry={quote(name, safe=':=,*')}")
        beans = json.loads(connection.getresponse().read())["beans"]
    except (OSError, HTTPException, ValueError, KeyError):
        return {}
    finally:
        connection.close()
    return dict(beans[0]) if beans else {}


def cache_counters(port: int) -> CacheCounters | None:
    """Return the cache counters of a RegionServer, None while it does not answer."""
    attributes = bean(port, SERVER_BEAN)
    if "regionCount" not in attributes:
        return None
    return CacheCounters(
        l2_hits=int(attributes.get("l2CacheHitCount", 0)),
        l2_misses=int(attributes.get("l2CacheMissCount", 0)),
        l2_blocks=int(attributes.get("l2CacheCount", 0)),
        l2_bytes=int(attributes.get("l2CacheSize", 0)),
        l2_evictions=int(attributes.get("l2CacheEvictionCount", 0)),
        failed_insertions=int(attributes.get("blockCacheFailedInsertionCount", 0)),
        l1_blocks=int(attributes.get("l1CacheCount", 0)),
        reads=int(attributes.get("readRequestCount", 0)),
        regions=int(attributes["regionCount"]),
    )
