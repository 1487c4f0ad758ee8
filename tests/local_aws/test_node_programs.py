"""Steps of a served local AWS run beside stand-ins of HBase, which remember what earlier steps have done."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from local_aws.emr.nodes import NOTE
from local_aws.server import LocalAws, local_aws
from warmbase.operations.aws.clients import Aws, any_call
from warmbase.operations.aws.node_command import PrimaryShell
from warmbase.operations.deploy.teardown import primary_actions

LOGS = "logs-of-steps"
CLUSTER: dict[str, Any] = {
    "Name": "one",
    "LogUri": f"s3://{LOGS}/emr/",
    "ReleaseLabel": "emr-7.14.0",
    "Instances": {
        "KeepJobFlowAliveWhenNoSteps": True,
        "InstanceGroups": [{"InstanceRole": "MASTER", "InstanceType": "m8g.xlarge", "InstanceCount": 1}],
    },
    "JobFlowRole": "nodes",
    "ServiceRole": "service",
}


CORE: dict[str, Any] = {"InstanceRole": "CORE", "InstanceType": "m8g.xlarge", "InstanceCount": 2}


def primary(local: LocalAws, *tags: Any, core: bool = False) -> PrimaryShell:
    aws = Aws(local.environment, any_call)
    if LOGS not in {bucket["Name"] for bucket in aws.s3.list_buckets()["Buckets"]}:
        aws.s3.create_bucket(Bucket=LOGS)
    groups = [*CLUSTER["Instances"]["InstanceGroups"], *([CORE] if core else [])]
    request = {**CLUSTER, "Instances": {**CLUSTER["Instances"], "InstanceGroups": groups}}
    cluster: str = aws.emr.run_job_flow(**request, Tags=list(tags))["JobFlowId"]
    return PrimaryShell(aws=aws, cluster_id=cluster, log_bucket=LOGS)


@pytest.mark.thorough
def test_steps_run_beside_stand_ins_whose_hbase_stays_stopped() -> None:
    with local_aws() as local:
        node = primary(local)
        # The log is checked before HBase is stopped, and again after.
        assert not node.run("inspect-wals", print)["down"]
        assert node.run("disable-tables", print) == {"tables": ["stand-in-users", "stand_in:events"], "enabled": []}
        assert node.run("stop-hbase", print, "0") == {"servers": [], "returned": False}
        log = node.run("inspect-wals", print)
        assert (log["down"], log["files"], log["directory"]) == (True, [], "hdfs://stand-in:8020/user/hbase/WALs")
        assert all(output.startswith(NOTE) for output in outputs(node))
        # Another cluster has an HBase of its own, and a tag says what is wrong with it.
        faulty = primary(local, {"Key": "local-aws:hbase", "Value": "enabled"})
        assert not faulty.run("inspect-wals", print)["down"]
        assert faulty.run("disable-tables", print)["enabled"] == ["stand-in-users"]


def test_an_hbase_that_systemd_starts_again_stays_down_when_its_units_are_stopped() -> None:
    """The worse reading of EMR's units: what the ordered stop has ended comes back."""
    with local_aws(readings="worse") as local:
        node = primary(local, core=True)
        assert node.run("stop-hbase", print, "0")["returned"]
        assert not node.run("inspect-wals", print)["down"]
        _, stop = primary_actions("")["stop-hbase"]
        lines: list[str] = []
        assert stop(node, lines.append) == "no RegionServer is running, and no unit of HBase"
        assert "HBase runs again: systemd has started it" in lines
        assert node.run("inspect-wals", print)["down"]
        assert stop(node, print) == "no RegionServer is running, and no unit of HBase"


def outputs(node: PrimaryShell) -> list[str]:
    """Return what the steps of a cluster wrote to stderr, as the local AWS stored it."""
    found = node.aws.s3.list_objects_v2(Bucket=LOGS, Prefix=f"emr/{node.cluster_id}/steps/")["Contents"]
    bodies = [node.aws.s3.get_object(Bucket=LOGS, Key=entry["Key"])["Body"].read() for entry in found]
    return [gzip.decompress(body).decode() for body in bodies]
