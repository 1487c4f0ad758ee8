"""Clean configurations as strangers write them: no error in any, and no warning but those that are told here.

Each is written after what EMR's own pages show for its purpose, with names of ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.linter.finding import Severity
from warmbase.linter.lint import lint
from warmbase.linter.reader import read_subject

S3 = {"hbase.emr.storageMode": "s3"}
ROOT = {"hbase.rootdir": "s3://orders-hbase/prod/"}
SEQUENTIAL = {"fs.s3a.experimental.input.fadvise": "sequential"}
EMRFS = "com.amazon.ws.emr.hadoop.fs.EmrFileSystem"
SCALING = {"ComputeLimits": {"UnitType": "Instances", "MinimumCapacityUnits": 2, "MaximumCapacityUnits": 10}}


class Stranger(Struct, frozen=True, kw_only=True):
    """A launch: `warnings` are the rules that rightly warn of it."""

    release: str | None = "emr-7.12.0"
    applications: tuple[str, ...] = ()
    configurations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    instances: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    warnings: frozenset[str] = frozenset()

    def subject(self, folder: Path) -> ClusterSpec:
        """Return the cluster that the reader reads from its RunJobFlow JSON."""
        launch = {
            **({"ReleaseLabel": self.release} if self.release else {}),
            "Applications": [{"Name": name} for name in self.applications],
            "Configurations": [nested(path.split("/"), properties) for path, properties in self.configurations.items()],
            "Instances": self.instances,
            **self.more,
        }
        path = folder / "launch.json"
        path.write_text(json.dumps(launch, indent=1), encoding="utf-8")
        return read_subject(path, None)


def nested(names: list[str], properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the classification of a path, the outer ones empty."""
    name, *inner = names
    if not inner:
        return {"Classification": name, "Properties": dict(properties)}
    return {"Classification": name, "Properties": {}, "Configurations": [nested(inner, properties)]}


def groups(core: int, instance: str = "m6g.xlarge", primary: int = 1) -> dict[str, Any]:
    """Return one primary group and one core group."""
    return {
        "InstanceGroups": [
            {"InstanceRole": "MASTER", "InstanceType": instance, "InstanceCount": primary},
            {"InstanceRole": "CORE", "InstanceType": instance, "InstanceCount": core},
        ]
    }


FLEETS = {
    "InstanceFleets": [
        {
            "InstanceFleetType": kind,
            "TargetOnDemandCapacity": 4,
            "InstanceTypeConfigs": [{"InstanceType": "m6g.xlarge"}],
        }
        for kind in ("MASTER", "CORE")
    ]
}

STRANGERS: Mapping[str, Stranger] = {
    "HBase on S3": Stranger(
        applications=("HBase",),
        configurations={"hbase": S3, "hbase-site": {"hbase.rootdir": "s3://amzn-s3-demo-bucket/my-hbase-rootdir"}},
        instances=groups(core=4),
        warnings=frozenset({"WB605"}),
    ),
    "HBase on S3 with the advised read policy": Stranger(
        applications=("HBase",),
        configurations={"hbase": S3, "hbase-site": {**ROOT, **SEQUENTIAL}},
        instances=groups(core=4),
    ),
    "a read replica": Stranger(
        applications=("HBase",),
        configurations={"hbase": {**S3, "hbase.emr.readreplica.enabled": "true"}, "hbase-site": {**ROOT, **SEQUENTIAL}},
        instances=groups(core=2),
    ),
    "EMR WAL": Stranger(
        applications=("HBase",),
        configurations={
            "hbase": {**S3, "hbase.emr.wal.enabled": "true"},
            "hbase-site": {**ROOT, **SEQUENTIAL, "emr.wal.workspace": "orders"},
        },
        instances=groups(core=2),
    ),
    "Kerberos": Stranger(
        applications=("HBase", "Hadoop", "ZooKeeper"),
        configurations={
            "hbase-site": {"hbase.security.authentication": "kerberos", "hbase.security.authorization": "true"},
            "core-site": {
                "hadoop.security.authentication": "kerberos",
                "hadoop.proxyuser.phoenix.hosts": "*",
                "hadoop.proxyuser.phoenix.groups": "*",
            },
        },
        instances=groups(core=4),
        more={"KerberosAttributes": {"Realm": "EC2.INTERNAL"}, "SecurityConfiguration": "kerberos"},
        warnings=frozenset({"WB904"}),
    ),
    "Phoenix": Stranger(
        applications=("HBase", "Phoenix"),
        configurations={
            "phoenix-hbase-site": {"phoenix.query.timeoutMs": "600000"},
            "hbase-site": {
                "hbase.regionserver.wal.codec": "org.apache.hadoop.hbase.regionserver.wal.IndexedWALEditCodec",
                "phoenix.schema.isNamespaceMappingEnabled": "true",
            },
        },
        instances=groups(core=4),
        warnings=frozenset({"WB103"}),
    ),
    "Spark alone, two core nodes, managed scaling": Stranger(
        applications=("Spark", "Hadoop", "Livy"),
        configurations={
            "spark": {"maximizeResourceAllocation": "true"},
            "spark-defaults": {"spark.executor.memory": "4g"},
            "yarn-env/export": {"YARN_RESOURCEMANAGER_OPTS": "-Xdebug"},
        },
        instances=groups(core=2),
        more={"ManagedScalingPolicy": SCALING},
    ),
    "Hive and Trino": Stranger(
        applications=("Hadoop", "Hive", "Tez", "Trino"),
        configurations={
            "hive-site": {"hive.cache.expr.evaluation": "true", "hive.exec.parallel": "true"},
            "tez-site": {"tez.am.resource.memory.mb": "4096"},
            "trino-config": {"query.max-memory-per-node": "10GB"},
            "trino-connector-hive": {"hive.metastore": "glue", "fs.cache.enabled": "true"},
            "core-site": {"fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"},
        },
        instances=groups(core=3),
        more={"ManagedScalingPolicy": SCALING},
    ),
    "HBase and Spark on fleets": Stranger(
        applications=("HBase", "Spark"),
        configurations={
            "hbase": S3,
            "hbase-site": {**ROOT, **SEQUENTIAL},
            "hdfs-site": {"dfs.replication": "2"},
            "spark-defaults": {"spark.dynamicAllocation.enabled": "true"},
        },
        instances=FLEETS,
    ),
    "back to EMRFS": Stranger(
        applications=("HBase",),
        configurations={
            "hbase": S3,
            "hbase-site": ROOT,
            "core-site": {"fs.s3.impl": EMRFS, "fs.s3n.impl": EMRFS},
            "emrfs-site": {"fs.s3.maxConnections": "5000", "fs.s3.consistent.retryCount": "5"},
        },
        instances=groups(core=4),
    ),
    "consistent view switched off": Stranger(
        applications=("Spark",),
        configurations={"emrfs-site": {"fs.s3.consistent": "false", "fs.s3.consistent.retryCount": "5"}},
        instances=groups(core=4),
    ),
    "HBase 1": Stranger(
        release="emr-5.36.2",
        applications=("HBase", "Hadoop", "ZooKeeper"),
        configurations={
            "hbase": S3,
            "hbase-site": {
                **ROOT,
                "hbase.bucketcache.size": "0.4",
                "hbase.bucketcache.combinedcache.enabled": "true",
                "hbase.bucketcache.percentage.in.combinedcache": "0.9",
                "hbase.bucketcache.bucket.sizes": "9216,17408",
                "hbase.offheapcache.minblocksize": "65536",
                "hbase.hstore.compactionThreshold": "4",
                "hbase.assignment.usezk": "true",
            },
            "hbase-env/export": {"HBASE_REGIONSERVER_OPTS": "'-XX:+UseG1GC -Xmx6g'"},
            "hbase-log4j": {"log4j.logger.org.apache.hadoop.hbase": "INFO"},
            "hdfs-site": {"dfs.support.append": "true"},
            "core-site": {"fs.s3.impl": EMRFS},
        },
        instances=groups(core=4),
        warnings=frozenset({"WB116", "WB404", "WB711"}),
    ),
    "a cluster of EMR 6 with what was there then": Stranger(
        release="emr-6.15.0",
        applications=("Spark", "Sqoop"),
        configurations={"sqoop-site": {"sqoop.metastore.client.autoconnect.url": "x"}, "prestosql-config": {"a": "b"}},
        instances=groups(core=1),
        warnings=frozenset({"WB116"}),
    ),
}


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS.keys())
def test_a_clean_configuration_has_no_error_and_few_warnings(stranger: Stranger, tmp_path: Path) -> None:
    report = lint(stranger.subject(tmp_path))
    assert [(finding.id, finding.message) for finding in report.of(Severity.ERROR)] == []
    assert {finding.id for finding in report.of(Severity.WARNING)} == stranger.warnings


def test_an_hdfs_site_alone_needs_no_log_of_hbase(tmp_path: Path) -> None:
    file = tmp_path / "hdfs-site.xml"
    file.write_text(
        "<configuration><property><name>dfs.replication</name><value>1</value></property></configuration>",
        encoding="utf-8",
    )
    report = lint(read_subject(file, "emr-7.12.0"))
    assert report.findings == ()


def test_without_applications_hbase_is_assumed(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text('[{"Classification": "hdfs-site", "Properties": {"dfs.replication": "1"}}]')
    assert "WB602" in {finding.id for finding in lint(read_subject(file, "emr-7.12.0")).findings}
