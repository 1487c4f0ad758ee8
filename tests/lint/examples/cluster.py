"""Instances, volumes, and what EMR does to a cluster by itself."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import File

VOLUME = " VolumeSpecification"
YARN = "yarn.nodemanager.resource.memory-mb"

CLUSTER = (
    Case(
        "WB701",
        " ManagedScalingPolicy",
        "EMR would add and remove nodes according to the load of YARN",
        File(cluster={"ManagedScalingPolicy": {"ComputeLimits": {"UnitType": "Instances"}}}),
    ),
    Case(
        "WB715",
        " AutoTerminationPolicy",
        "EMR can terminate the cluster while it serves requests",
        File(cluster={"AutoTerminationPolicy": {"IdleTimeout": 7200}}),
    ),
    Case(
        "WB702",
        VOLUME,
        "300 MiB/s of volumes on r8g.2xlarge, which sustains only 298",
        File(volume={"Throughput": 300}),
        File(volume={"Throughput": 298}),
    ),
    Case(
        "WB703",
        VOLUME,
        "12,001 IOPS of volumes on r8g.2xlarge",
        File(volume={"Iops": 12001}),
        File(volume={"Iops": 12000}),
    ),
    Case(
        "WB704",
        VOLUME,
        "the volume is limited to gp3's default of 125 MiB/s",
        File(volume={"Throughput": None}),
        File(volume={"Throughput": 125}),
    ),
    Case(
        "WB705",
        VOLUME,
        "751 MiB/s requires 3,004 IOPS, not 3,000",
        File(volume={"Throughput": 751}, core={"InstanceType": "r8g.8xlarge"}),
        File(volume={"Throughput": 750}, core={"InstanceType": "r8g.8xlarge"}),
    ),
    Case("WB706", VOLUME, "this one has 1,025 GiB", File(volume={"SizeInGB": 1025}), File(volume={"SizeInGB": 1024})),
    Case(
        "WB707",
        VOLUME,
        "the cache would be on a gp2 volume",
        File(volume={"VolumeType": "gp2", "Throughput": None}),
        File(volume={"VolumeType": "gp3", "Throughput": 125}),
    ),
    Case(
        "WB708",
        " InstanceType",
        "emr-7.12.0 does not list i8ge.xlarge",
        File(primary={"InstanceType": "i8ge.xlarge"}),
        File(primary={"InstanceType": "i8g.xlarge"}),
    ),
    Case(
        "WB709",
        "emr-metrics Applications",
        "AmazonCloudWatchAgent is not among the applications",
        File(applications=("HBase", "ZooKeeper")),
    ),
    Case(
        "WB710",
        " Applications",
        "HBase is not among the applications",
        File(applications=("AmazonCloudWatchAgent", "ZooKeeper")),
    ),
    Case(
        "WB711",
        f"yarn-site {YARN}",
        "YARN may use a third to a half of the memory besides the heap",
        File(others={"yarn-site": {YARN: None}}),
    ),
    Case(
        "WB712", " KeyName", "whoever has the SSH key can log in to every node", File(instances={"Ec2KeyName": "key"})
    ),
    Case(
        "WB713",
        " InstanceGroups",
        "task nodes run RegionServers",
        File(groups=({"InstanceRole": "TASK", "InstanceType": "r8g.2xlarge", "InstanceCount": 2},)),
    ),
    Case(
        "WB714",
        " InstanceGroups",
        "if the only primary node is lost",
        File(primary={"InstanceCount": 1}),
        File(primary={"InstanceCount": 3}),
    ),
)
