"""Instances, volumes, and what EMR does to a cluster by itself."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import File

VOLUME = " VolumeSpecification"
YARN = "yarn.nodemanager.resource.memory-mb"

CLUSTER = (
    Case(
        id="WB701",
        faulty=File(cluster={"ManagedScalingPolicy": {"ComputeLimits": {"UnitType": "Instances"}}}),
        at=" ManagedScalingPolicy",
        says="EMR would add and remove nodes according to the load of YARN",
    ),
    Case(
        id="WB715",
        faulty=File(cluster={"AutoTerminationPolicy": {"IdleTimeout": 7200}}),
        at=" AutoTerminationPolicy",
        says="EMR can terminate the cluster while it serves requests",
    ),
    Case(
        id="WB702",
        faulty=File(volume={"Throughput": 300}),
        right=File(volume={"Throughput": 298}),
        at=VOLUME,
        says="300 MiB/s of volumes on r8g.2xlarge, which sustains only 298",
    ),
    Case(
        id="WB703",
        faulty=File(volume={"Iops": 12001}),
        right=File(volume={"Iops": 12000}),
        at=VOLUME,
        says="12,001 IOPS of volumes on r8g.2xlarge",
    ),
    Case(
        id="WB704",
        faulty=File(volume={"Throughput": None}),
        right=File(volume={"Throughput": 125}),
        at=VOLUME,
        says="the volume is limited to gp3's default of 125 MiB/s",
    ),
    Case(
        id="WB705",
        faulty=File(volume={"Throughput": 751}, core={"InstanceType": "r8g.8xlarge"}),
        right=File(volume={"Throughput": 750}, core={"InstanceType": "r8g.8xlarge"}),
        at=VOLUME,
        says="751 MiB/s requires 3,004 IOPS, not 3,000",
    ),
    Case(
        id="WB706",
        faulty=File(volume={"SizeInGB": 1025}),
        right=File(volume={"SizeInGB": 1024}),
        at=VOLUME,
        says="this one has 1,025 GiB",
    ),
    Case(
        id="WB707",
        faulty=File(volume={"VolumeType": "gp2", "Throughput": None}),
        right=File(volume={"VolumeType": "gp3", "Throughput": 125}),
        at=VOLUME,
        says="the cache would be on a gp2 volume",
    ),
    Case(
        id="WB708",
        faulty=File(primary={"InstanceType": "i8ge.xlarge"}),
        right=File(primary={"InstanceType": "i8g.xlarge"}),
        at=" InstanceType",
        says="emr-7.12.0 does not list i8ge.xlarge",
    ),
    Case(
        id="WB709",
        faulty=File(applications=("HBase", "ZooKeeper")),
        at="emr-metrics Applications",
        says="AmazonCloudWatchAgent is not among the applications",
    ),
    Case(
        id="WB710",
        faulty=File(applications=("AmazonCloudWatchAgent", "ZooKeeper")),
        at=" Applications",
        says="HBase is not among the applications",
    ),
    Case(
        id="WB711",
        faulty=File(others={"yarn-site": {YARN: None}}),
        at=f"yarn-site {YARN}",
        says="YARN may use a third to a half of the memory besides the heap",
    ),
    Case(
        id="WB712",
        faulty=File(instances={"Ec2KeyName": "key"}),
        at=" KeyName",
        says="whoever has the SSH key can log in to every node",
    ),
    Case(
        id="WB713",
        faulty=File(groups=({"InstanceRole": "TASK", "InstanceType": "r8g.2xlarge", "InstanceCount": 2},)),
        at=" InstanceGroups",
        says="task nodes run RegionServers",
    ),
    Case(
        id="WB714",
        faulty=File(primary={"InstanceCount": 1}),
        right=File(primary={"InstanceCount": 3}),
        at=" InstanceGroups",
        says="if the only primary node is lost",
    ),
)
