"""What daemons of HBase say of themselves over HTTP: their JMX beans as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import quote

from configurations.metrics import MISSES_FOR_ONE
from lab.hbase.paths import HOST

__all__ = ["CacheCounters", "bean", "cache_counters", "hit_ratio"]

ANSWER_SECONDS: Final = 10.0
SERVER_BEAN: Final = "Hadoop:service=HBase,name=RegionServer,sub=Server"


def hit_ratio(hits: int, misses: int) -> float:
    """Share of block reads that the BucketCache answered, of counters as HBase has them; 0 of none."""
    read = hits + misses / MISSES_FOR_ONE
    return hits / read if read else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounters:
    """What a RegionServer has counted since it started. `count` and bytes are as of now."""

    l2_hits: int
    l2_misses: int
    l2_blocks: int
    l2_bytes: int
    l2_evictions: int
    failed_insertions: int
    l1_blocks: int
    reads: int
    regions: int

    @property
    def lookups(self) -> int:
        """Blocks that were looked for in the BucketCache."""
        return self.l2_hits + self.l2_misses // MISSES_FOR_ONE


def bean(port: int, name: str) -> Mapping[str, Any]:
    """The attributes of one bean; empty while nobody answers, or when there is no such bean."""
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
    """The cache counters of a RegionServer; None while it does not answer."""
    found = bean(port, SERVER_BEAN)
    if "regionCount" not in found:
        return None
    return CacheCounters(
        l2_hits=int(found.get("l2CacheHitCount", 0)),
        l2_misses=int(found.get("l2CacheMissCount", 0)),
        l2_blocks=int(found.get("l2CacheCount", 0)),
        l2_bytes=int(found.get("l2CacheSize", 0)),
        l2_evictions=int(found.get("l2CacheEvictionCount", 0)),
        failed_insertions=int(found.get("blockCacheFailedInsertionCount", 0)),
        l1_blocks=int(found.get("l1CacheCount", 0)),
        reads=int(found.get("readRequestCount", 0)),
        regions=int(found["regionCount"]),
    )
