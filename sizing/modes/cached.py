"""Mode `s3-cached`: the data is in S3, and a BucketCache on the nodes' disks serves the reads."""

from __future__ import annotations

from typing import Final

from sizing.modes.mode import Mode

__all__ = ["S3_CACHED"]

S3_CACHED: Final = Mode(
    name="s3-cached",
    title="HBase on S3 with a disk cache",
    summary="data in S3; a cache on the nodes' disks serves the reads",
    keeps_data_in_s3=True,
    data_volume="cache",
    data_copies=1,
    min_core_nodes=2,
    site_template="hbase-site/s3-cached.json.j2",
    dashboards=("cache", "reads", "nodes"),
    composite_alarms=("servers", "cache", "writes-to-cache", "room", "reads"),
    teardown=("disable-tables", "flush-meta", "stop-hbase", "check-log"),
)
