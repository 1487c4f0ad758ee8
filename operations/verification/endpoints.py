"""Checks that the policies of a new VPC's endpoints are in force, and that the cluster runs behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from environments.names import network_stack
from operations.verification.check import Check, CheckResult, VerificationContext

ENDPOINT: Final = "AWS::EC2::VPCEndpoint"
CONDITION: Final = '"Condition"'
"""The element that AWS's default policy, which allows everything, does not have."""
RUNNING: Final = frozenset({"RUNNING", "WAITING"})


def _endpoints_are_limited(context: VerificationContext) -> Iterator[CheckResult]:
    network = context.launch.environment.network
    if network.vpc is not None or not network.endpoint_policies:
        return
    check = Check(
        "endpoint policies",
        "The policies of a new VPC's endpoints let through",
        "every endpoint has a policy with a condition, and the cluster runs",
        "run warmbase deploy if a policy is missing; if nodes cannot reach something, add it to"
        " stacks/endpoint_policies.py, or write `network: {endpoint_policies: false}`",
    )
    name = network_stack(context.launch.environment.name)
    resources = context.aws.cloudformation.describe_stack_resources(StackName=name)["StackResources"]
    ids = [resource["PhysicalResourceId"] for resource in resources if resource["ResourceType"] == ENDPOINT]
    endpoints = context.aws.ec2.describe_vpc_endpoints(VpcEndpointIds=ids)["VpcEndpoints"]
    free = [
        endpoint["ServiceName"].rpartition(".")[2]
        for endpoint in endpoints
        if CONDITION not in endpoint.get("PolicyDocument", "")
    ]
    observed = f"without: {', '.join(free)}" if free else f"{len(endpoints)} endpoints have one"
    yield check.result(
        f"{observed}; the cluster is {context.cluster.state}",
        good=not free and bool(endpoints) and context.cluster.state in RUNNING,
    )


ENDPOINT_CHECKS = (_endpoints_are_limited,)
"""Every check, in order."""
