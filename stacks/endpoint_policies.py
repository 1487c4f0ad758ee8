"""The policies of the VPC endpoints that warmbase creates: which accounts a node, and whoever is on it, can reach.

Without them, credentials of any account could carry data through an endpoint to any bucket. With them, S3 answers for
the buckets of the environment's own account and for those that EMR and Amazon Linux read, and the other services only
to credentials of that account. The endpoints of an existing VPC get none: other programs may use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam

from environments.environment import Environment

PACKAGES: Final = (
    # EMR Management Guide, private-subnet-iampolicy: EMR 7.0.0 and later.
    "al2023-repos-{region}-de612dc2/*",
    "repo.{region}.emr.amazonaws.com/*",
    # EMR Release Guide, emr-hadoop-script: script-runner.jar of steps.
    "{region}.elasticmapreduce/*",
)
"""The objects that AWS publishes for EMR and its operating system, in a region."""
# Systems Manager User Guide, ssm-agent-minimum-s3-permissions: the modules of its documents, and newer agents.
AGENT_FILES: Final = ("aws-ssm-{region}/*", "amazon-ssm-{region}/*")
# EMR Management Guide, private-subnet-iampolicy: where a cluster with logging also writes. The same page's bucket of
# application histories (prod.REGION.appinfo.src) is for Spark, Tez and YARN pages that an HBase cluster does not have.
SYSTEM_LOGS: Final = "aws157-logs-prod-{region}/*"
SYSTEM_LOGS_OF_US_EAST_1: Final = "aws157-logs-prod/*"
REASONS: Final[Mapping[str, str]] = {
    "OwnBuckets": "the root, the logs and the bootstrap files are in buckets of these accounts; what a node may do with"
    " them is in its role",
    "Packages": "EMR and Amazon Linux install packages from these buckets of AWS",
    "AgentFiles": "the agent of Systems Manager reads its documents' modules and its own updates from these buckets of"
    " AWS",
    "SystemLogs": "EMR's agents copy logs of its daemons to this bucket of AWS",
    "Certificates": "EMR unpacks the certificates on each node; the file names this one object, which may belong to"
    " another account",
    "OwnCredentials": "nodes call the service with their role; credentials of any other account are refused, so that"
    " nobody can use them to send data out",
}
"""The reason for each statement, by its Sid."""


def s3_statements(scope: cdk.Stack, environment: Environment) -> Iterator[iam.PolicyStatement]:
    """Yield the statements of the policy of the gateway endpoint for S3."""
    region, owner = environment.region, environment.root.owner
    accounts = [scope.account, *([owner] if owner else [])]
    yield _allowed("OwnBuckets", ["s3:*"], ["*"], {"aws:ResourceAccount": accounts})
    yield _allowed("Packages", ["s3:GetObject"], _objects(PACKAGES, region))
    yield _allowed("AgentFiles", ["s3:GetObject"], _objects(AGENT_FILES, region))
    logs = SYSTEM_LOGS_OF_US_EAST_1 if region == "us-east-1" else SYSTEM_LOGS
    yield _allowed("SystemLogs", ["s3:PutObject"], _objects([logs], region))
    if environment.certificates:
        yield _allowed("Certificates", ["s3:GetObject"], _objects([environment.certificates.removeprefix("s3://")]))


def limit_interface(scope: cdk.Stack, endpoint: ec2.InterfaceVpcEndpoint) -> None:
    """Let only credentials of this account use the endpoint of one service.

    EMR's write-ahead log supports such a policy, too (EMR Release Guide, emr-hbase-wal-privatelink).
    """
    endpoint.add_to_policy(_allowed("OwnCredentials", ["*"], ["*"], {"aws:PrincipalAccount": [scope.account]}))


def _allowed(
    sid: str, actions: Sequence[str], resources: Sequence[str], equal: Mapping[str, Sequence[str]] | None = None
) -> iam.PolicyStatement:
    """Return a statement for every principal. Raises KeyError for one without a reason in REASONS."""
    if sid not in REASONS:
        raise KeyError(f"{sid}: a statement needs a reason")
    return iam.PolicyStatement(
        sid=sid,
        actions=list(actions),
        resources=list(resources),
        principals=[iam.AnyPrincipal()],
        conditions={"StringEquals": dict(equal)} if equal else None,
    )


def _objects(patterns: Sequence[str], region: str = "") -> list[str]:
    return [cdk.Fn.sub(f"arn:${{AWS::Partition}}:s3:::{pattern.format(region=region)}") for pattern in patterns]
