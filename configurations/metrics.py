"""The RegionServer attributes that EMR's CloudWatch agent publishes for us.

Names read in HBase 2.6.2, bean `Hadoop:service=HBase,name=RegionServer,sub=Server`. Counts are since the start of
the RegionServer. The lifetime ratio `l2CacheHitRatio` belongs to the published recipe and is published, but never
drawn or alarmed on: it averages over everything since the start.
"""

from typing import Final

REGION_SERVER_ATTRIBUTES: Final = (
    "readRequestCount",
    "writeRequestCount",
    "l2CacheHitCount",
    "l2CacheMissCount",
    "l2CacheHitRatio",
    "l2CacheSize",
)
EXPORT_INTERVAL_MS: Final = 60_000
