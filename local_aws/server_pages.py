"""The pages on which the servers of a local cluster say what they have read: rendered properties, and EMR's own.

No server runs, and the pages are files. Sources of EMR's own properties: a public cluster of emr-7.12.0 with HBase on
S3, whose author names the defaults that he changed; and a decompilation of EMR's provisioner of 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from local_aws.control_tags import EMR_DEFAULTS, control

if TYPE_CHECKING:
    from local_aws.moto_internals import Untyped

ADDRESSES: Final[Mapping[str, str]] = {"CORE": "http://127.0.0.1:16030", "MASTER": "http://127.0.0.1:16010"}
"""The address of the server's page on a node of each group."""
FILES: Final = ("core-site", "hdfs-site", "hbase-site")
OF_A_CLUSTER: Final[Mapping[str, str]] = {
    "hbase.cluster.distributed": "true",
    "hbase.zookeeper.quorum": "ip-10-0-0-10.ec2.internal",
    "hbase.tmp.dir": "/mnt/var/hbase",
}
"""Properties that EMR must set on each cluster."""
HIDDEN: Final[Mapping[str, str]] = {
    "hbase.balancer.tablesOnMaster": "none",
    "hbase.balancer.uselocality": "false",
    "hbase.bucketcache.size": "8192",
    "hbase.hregion.memstore.flush.size": "268435456",
    "hbase.hstore.blockingStoreFiles": "20",
    "hbase.hstore.compactionThreshold": "8",
    "hbase.master.startup.retainassign": "false",
    "hbase.regionserver.handler.count": "30",
    "hbase.wal.dir": "hdfs://ip-10-0-0-10.ec2.internal:8020/user/hbase/WAL",
}
"""Properties that EMR is said to set for HBase on S3 where nobody else does."""


def settings_page(cluster: Untyped, role: str) -> str:
    """Return the page of the server on each node of a group: what is rendered, over what EMR sets."""
    [group] = [group for group in cluster.instance_groups if group.role == role]
    entries = {key: (value, "hbase-site") for key, value in OF_A_CLUSTER.items()}
    if control(cluster, EMR_DEFAULTS) == "merge":
        entries |= {key: (value, "hbase-site") for key, value in HIDDEN.items()}
    for file in FILES:
        for level in (cluster.configurations, group.configurations):
            for setting in level or ():
                if setting["Classification"] == file:
                    entries |= {key: (value, file) for key, value in setting.get("Properties", {}).items()}
    properties = (
        f"<property><name>{escape(key)}</name><value>{escape(str(value))}</value><source>{file}.xml</source></property>"
        for key, (value, file) in entries.items()
    )
    return f"<configuration>{''.join(properties)}</configuration>"
