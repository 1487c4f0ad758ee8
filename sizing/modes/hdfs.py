"""Mode `hdfs`: the data is on the core nodes' own volumes, in three copies, and ends with the cluster."""

from __future__ import annotations

from typing import Final

from sizing.modes.mode import Mode

__all__ = ["HDFS", "HDFS_REPLICATION"]

HDFS_REPLICATION: Final = 3
"""EMR's default from ten core nodes on, and what data that is stored nowhere else needs."""

HDFS: Final = Mode(
    name="hdfs",
    title="HBase on HDFS",
    summary="data on the nodes' disks, in three copies; lost when the cluster ends",
    keeps_data_in_s3=False,
    data_volume="data",
    data_copies=HDFS_REPLICATION,
    min_core_nodes=HDFS_REPLICATION,
    site_template="hbase-site/hdfs.json.j2",
    dashboards=("reads", "nodes"),
    composite_alarms=("servers",),
    teardown=("find-exports", "disable-tables", "verify-exports"),
)
