"""Clusters on EMR that another tool launches, which claim nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.operations.deployed import Deployed
from warmbase.operations.aws.clients import Aws
from warmbase.operations.deploy.preflight import preflight


def other_cluster(
    aws: Aws, site: Mapping[str, str], primary: Mapping[str, str] | None = None, core: Mapping[str, str] | None = None
) -> str:
    """Return the id of a new cluster with these properties of hbase-site: of the cluster, and of its groups."""
    flow: Any = aws.emr
    roles = {"MASTER": primary or {}, "CORE": core or {}}
    groups = [
        {"InstanceRole": role, "InstanceType": "m7g.xlarge", "InstanceCount": 1, "Configurations": _site(properties)}
        for role, properties in roles.items()
    ]
    launched: str = flow.run_job_flow(
        Name="by another tool",
        ReleaseLabel="emr-7.12.0",
        JobFlowRole="node",
        ServiceRole="service",
        Configurations=_site(site),
        Instances={"KeepJobFlowAliveWhenNoSteps": True, "InstanceGroups": groups},
    )["JobFlowId"]
    return launched


def _site(properties: Mapping[str, str]) -> list[Mapping[str, object]]:
    return [{"Classification": "hbase-site", "Properties": dict(properties)}] if properties else []


def problems(here: Deployed) -> list[str]:
    """Return the names of the checks that refuse a deployment of a new cluster."""
    checks = preflight(here.aws, here.environment, {"blue": here.launch}, {})
    return [check.name for check in checks if check.problem and check.name != "cdk bootstrap"]
