"""Mode `s3-plain`: the data is in S3, and every read goes there. It is meant for disaster recovery."""

from __future__ import annotations

from typing import Final

from sizing.modes.mode import Mode

__all__ = ["S3_PLAIN"]

S3_PLAIN: Final = Mode(
    name="s3-plain",
    title="HBase on S3 without a disk cache",
    summary="data in S3; every read goes to S3 (for disaster recovery)",
    keeps_data_in_s3=True,
    data_volume=None,
    data_copies=1,
    min_core_nodes=2,
    site_template="hbase-site/s3-plain.json.j2",
    dashboards=("reads", "nodes"),
    composite_alarms=("servers", "cache", "reads"),
    teardown=("disable-tables", "flush-meta", "stop-hbase", "check-log"),
)
