"""Paths on a node. Configuration names only these; the bootstrap action mounts the right volumes behind them."""

from typing import Final

CACHE_FILE: Final = "/warmbase/cache/bucketcache/blocks"
INDEX_FILE: Final = "/warmbase/cache/index/bucketcache.index"
HDFS_DATA: Final = "/warmbase/system/hdfs"
YARN_LOCAL: Final = "/warmbase/system/yarn"
