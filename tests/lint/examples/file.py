"""A stranger's file, as the launch of a good cluster and what differs from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from warmbase.emr.cluster_spec import ClusterSpec, TableCoprocessor
from warmbase.linter.reader import read_subject

RELEASE = "emr-7.12.0"
COLLECTOR = '"-XX:+UseZGC -XX:+ZGenerational"'
OPTIONS = '"$HBASE_REGIONSERVER_OPTS -Xms16g -Xmx16g"'
BALANCER = "org.apache.hadoop.hbase.master.balancer.CacheAwareLoadBalancer"

Properties = Mapping[str, str | None]
"""Properties to add to the good cluster; None removes one."""

# 500 GiB of cache on six nodes of 64 GiB, slots for blocks of 64 KiB, kept over a restart.
SITE: Mapping[str, str] = {
    "hbase.rootdir": "s3://bucket/prefix/",
    "fs.s3a.experimental.input.fadvise": "sequential",
    "hbase.bucketcache.ioengine": "files:/mnt1/hbase/cache",
    "hbase.bucketcache.size": "512000",
    "hbase.bucketcache.bucket.sizes": "66560,532480",
    "hbase.bucketcache.queue.addition.waittime": "1000",
    "hbase.bucketcache.persistent.path": "/mnt1/hbase/index",
    "hbase.bucketcache.persist.intervalinmillis": "300000",
    "hbase.bucketcache.persistence.chunksize": "1000000",
    "hbase.rs.prefetchblocksonopen": "true",
    "hbase.hfile.thread.prefetch": "16",
    "hfile.block.cache.size": "0.2",
    "hbase.regionserver.global.memstore.size": "0.2",
    "hbase.hregion.majorcompaction": "0",
    "hbase.master.scp.retain.assignment": "true",
    "hbase.master.scp.retain.assignment.force": "true",
    "hbase.master.scp.retain.assignment.force.retries": "12",
    "hbase.master.wait.on.regionservers.maxtostart": "5",
    "hbase.master.wait.on.regionservers.timeout": "150000",
}
OTHERS: Mapping[str, Mapping[str, str]] = {
    "hbase": {"hbase.emr.storageMode": "s3", "hbase.regionserver.fixed.heap.enabled": "true"},
    "hbase-env/export": {
        "JAVA_HOME": "/usr/lib/jvm/jre-21",
        "HBASE_REGIONSERVER_GC_OPTS": COLLECTOR,
        "HBASE_REGIONSERVER_OPTS": OPTIONS,
    },
    "hdfs-site": {"dfs.replication": "2", "dfs.datanode.data.dir": "/mnt/hdfs"},
    "yarn-site": {"yarn.nodemanager.local-dirs": "/mnt/yarn", "yarn.nodemanager.resource.memory-mb": "8192"},
    "emr-metrics/emr-system-metrics/disk": {"metrics": "disk_used_percent"},
}
CORE: Mapping[str, Any] = {"InstanceRole": "CORE", "InstanceType": "r8g.2xlarge", "InstanceCount": 6}
VOLUME: Mapping[str, Any] = {"VolumeType": "gp3", "SizeInGB": 1000, "Throughput": 250}
PRIMARY: Mapping[str, Any] = {"InstanceRole": "MASTER", "InstanceType": "m8g.xlarge", "InstanceCount": 3}
APPLICATIONS = ("AmazonCloudWatchAgent", "HBase", "ZooKeeper")

NO_CACHE: Properties = {key: None for key in SITE if "bucketcache" in key or "retain" in key}
NOT_PERSISTENT: Properties = {key: None for key in SITE if "persist" in key or "retain" in key}
IN_HDFS: Mapping[str, Properties] = {"hbase": {"hbase.emr.storageMode": "hdfs"}}


class File(Struct, frozen=True):
    """How a file differs from that of the good cluster: `site` in hbase-site, `others` in other classifications.

    `core`, `primary`, `volume`, `instances` and `cluster` are members of RunJobFlow's objects, by its names; None for
    `volume` takes the volumes away. `again` are classifications that follow those of the cluster, `groups` more groups.
    """

    site: Properties = field(default_factory=dict)
    others: Mapping[str, Properties | None] = field(default_factory=dict)
    release: str | None = RELEASE
    core: Mapping[str, Any] = field(default_factory=dict)
    primary: Mapping[str, Any] = field(default_factory=dict)
    volume: Mapping[str, Any] | None = field(default_factory=dict)
    volumes: int = 1
    instances: Mapping[str, Any] = field(default_factory=dict)
    cluster: Mapping[str, Any] = field(default_factory=dict)
    applications: tuple[str, ...] = APPLICATIONS
    again: tuple[Mapping[str, Any], ...] = ()
    groups: tuple[Mapping[str, Any], ...] = ()
    open_networks: tuple[str, ...] = ()
    """The networks of an environment; no launch states them."""
    coprocessors: tuple[TableCoprocessor, ...] = ()
    """The coprocessors that an inspection lists."""

    def text(self) -> str:
        """Return the file: RunJobFlow's JSON, one property in a line."""
        return json.dumps(self._launch(), indent=1)

    def subject(self, folder: Path) -> ClusterSpec:
        """Return the cluster that the reader reads from the file."""
        path = folder / "launch.json"
        path.write_text(self.text(), encoding="utf-8")
        return replace(read_subject(path, None), open_networks=self.open_networks, coprocessors=self.coprocessors)

    def _launch(self) -> dict[str, Any]:
        levels: dict[str, Properties] = {"hbase-site": {**SITE, **self.site}}
        for path, properties in {**OTHERS, **self.others}.items():
            if properties is not None:
                levels[path] = {**OTHERS.get(path, {}), **properties}
        return {
            **({"ReleaseLabel": self.release} if self.release else {}),
            "Applications": [{"Name": name} for name in self.applications],
            "Configurations": [*classifications(levels), *self.again],
            "Instances": {"InstanceGroups": [*self._groups(), *self.groups], **self.instances},
            **self.cluster,
        }

    def _groups(self) -> Iterable[Mapping[str, Any]]:
        yield {**PRIMARY, **self.primary}
        core = {**CORE, **self.core}
        if self.volume is not None:
            device = {"VolumeSpecification": {**VOLUME, **self.volume}, "VolumesPerInstance": self.volumes}
            core["EbsConfiguration"] = {"EbsBlockDeviceConfigs": [device]}
        yield core


def classifications(levels: Mapping[str, Properties]) -> list[dict[str, Any]]:
    """Return each path as EMR nests it."""
    top: list[dict[str, Any]] = []
    for path, properties in levels.items():
        *outer, name = path.split("/")
        inside = top
        for inner in outer:
            inside = named(inner, inside)["Configurations"]
        named(name, inside)["Properties"].update({key: value for key, value in properties.items() if value is not None})
    return top


def named(name: str, inside: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the classification of that name, and add it where it is missing."""
    same = next((entry for entry in inside if entry["Classification"] == name), None)
    if same is not None:
        return same
    inside.append({"Classification": name, "Properties": {}, "Configurations": []})
    return inside[-1]
