"""Paths on a node. Classifications name only these; a bootstrap action mounts the right volumes behind them."""

from __future__ import annotations

from typing import Final

from sizing.plan import CoreGroup

CACHE: Final = "/warmbase/cache"
CACHE_FILE: Final = "/warmbase/cache/bucketcache/blocks"
INDEX_FILE: Final = "/warmbase/cache/index/bucketcache.index"
HDFS_LOG: Final = "/warmbase/system/hdfs"
YARN_LOCAL: Final = "/warmbase/system/yarn"
S3A_BUFFER: Final = "/warmbase/system/s3a"
HEAP_DUMP: Final = "/warmbase/system/regionserver.hprof"
GC_LOG: Final = "/var/log/hbase/regionserver-gc.log"
"""EMR collects HBase's logs there; the directory exists before a RegionServer starts."""
DATA: Final = "/warmbase/data"
DOMAIN_SOCKET: Final = "/var/lib/hadoop-hdfs/dn_socket"


def cache_mounts(core: CoreGroup) -> tuple[str, ...]:
    """Return where a core node mounts its cache volumes; the index is on the first one."""
    numbers = range(1, core.volume("cache").count + 1)
    return tuple(CACHE if number == 1 else f"{CACHE}-{number}" for number in numbers)


def cache_files(core: CoreGroup) -> str:
    """Return the cache file on each volume, as `hbase.bucketcache.ioengine` lists them."""
    return ",".join(CACHE_FILE.replace(CACHE, mount) for mount in cache_mounts(core))


def hdfs_directories(core: CoreGroup) -> str:
    """Return the directories of a DataNode: on data volumes where there are any, else on the system volume."""
    data = next((volume.count for volume in core.volumes if volume.purpose == "data"), 0)
    return ",".join(f"{DATA}/{number}/hdfs" for number in range(1, data + 1)) or HDFS_LOG
