"""Findings of cdk-nag's AwsSolutions pack that we know and leave, each with its reason, at the resource it is about."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

REASONS = {
    "EMR4": "local disks are encrypted unless the environment file says otherwise; the rule looks one level too high",
    "EMR5": "encrypted in transit where the environment file names certificates; the rule looks one level too high",
    "S1": "it is the bucket that logs go to: a log of itself would never end",
    "EMR6": "no key pair on purpose: nodes are reached by Session Manager, and nothing needs SSH",
    "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/AmazonSSMManagedInstanceCore]": (
        "what Session Manager asks for, kept up to date by AWS"
    ),
    "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonEMRServicePolicy_v2]": (
        "EMR's own policy, limited by the tag that our resources carry"
    ),
    "IAM5[Resource::arn:<AWS::Partition>:elasticmapreduce:<AWS::Region>:<AWS::AccountId>:cluster/*]": (
        "asking whether the cluster that claims the root still runs; which one it is, nobody knows before"
    ),
    "IAM5[Resource::*]": "PutMetricData knows no resources; the statement is limited to two namespaces",
}
OF_A_WORKSPACE = "one workspace and the logs in it, which HBase names; EMR's documents leave the region of its ARN out"
OBJECTS_OF_A_PREFIX = "the objects of one prefix; HBase and EMR make their names"


def suppress(construct: Construct, *rules: str) -> None:
    """Acknowledges rules of the pack by id, for this construct and what is in it.

    Raises KeyError for a rule without a reason in REASONS.
    """
    _suppress(construct, {rule: REASONS[rule] for rule in rules})


def suppress_objects(construct: Construct, *patterns: str) -> None:
    """Acknowledges, for this construct and what is in it, policies for the objects that patterns name."""
    _suppress(construct, {_objects_of(pattern): OBJECTS_OF_A_PREFIX for pattern in patterns})


def suppress_workspace(construct: Construct, workspace: str) -> None:
    """Suppress the finding about one workspace of write-ahead logs, in whatever region its ARN names."""
    arn = f"IAM5[Resource::arn:<AWS::Partition>:emrwal:*:<AWS::AccountId>:workspace/{workspace}"
    _suppress(construct, {f"{arn}]": OF_A_WORKSPACE, f"{arn}/*]": OF_A_WORKSPACE})


def _suppress(construct: Construct, reasons: Mapping[str, str]) -> None:
    cdk.Validations.of(construct).acknowledge(
        *(
            cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason)
            for rule, reason in reasons.items()
        )
    )


def _objects_of(pattern: str) -> str:
    """The finding about the objects that a pattern names, as cdk-nag spells it."""
    return f"IAM5[Resource::arn:<AWS::Partition>:s3:::{pattern.replace('${AWS::AccountId}', '<AWS::AccountId>')}]"
