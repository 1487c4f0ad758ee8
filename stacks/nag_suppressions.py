"""The cdk-nag findings that we accept, each suppressed at its own resource with the reason."""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

REASONS = {
    "EMR4": "local disks are encrypted unless the environment file turns that off; the rule reads the wrong level",
    "EMR5": "traffic is encrypted if the environment file names certificates; the rule reads the wrong level",
    "S1": "this bucket receives the access logs; if it logged access to itself, each log would cause another",
    "EMR6": "there is deliberately no key pair: you reach nodes through Session Manager, and nothing needs SSH",
    "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonEMRServicePolicy_v2]": (
        "this is EMR's own policy; it applies only to resources that have our tag"
    ),
    "IAM5[Resource::arn:<AWS::Partition>:elasticmapreduce:<AWS::Region>:<AWS::AccountId>:cluster/*]": (
        "a node checks whether the cluster that claims the root is running; its id is not known in advance. The"
        " backstop of a canary ends clusters with the canary's tag"
    ),
    "IAM5[Resource::arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>:instance/*]": (
        "each node registers itself with Systems Manager; its id is not known in advance"
    ),
    "IAM5[Resource::arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>:volume/*]": (
        "a boost tags the volumes that its schedules take back; their ids are not known in advance"
    ),
    "IAM5[Resource::arn:<AWS::Partition>:glue:<AWS::Region>:<AWS::AccountId>:database/*]": (
        "queries may name any table of the account's catalog; which files they read is limited to named prefixes"
    ),
    "IAM5[Resource::arn:<AWS::Partition>:glue:<AWS::Region>:<AWS::AccountId>:table/*]": (
        "queries may name any table of the account's catalog; which files they read is limited to named prefixes"
    ),
    "IAM5[Resource::*]": "IAM defines no resources for the channels of Session Manager; metrics are limited to two"
    " namespaces; the backstop of a canary lists clusters",
}
OF_A_WORKSPACE = "one workspace and its logs, which HBase names; the EMR documentation omits the region from the ARN"
OBJECTS_OF_A_PREFIX = "objects below one prefix; HBase and EMR choose their names"


def suppress(construct: Construct, *rules: str) -> None:
    """Suppress rules by id, for this construct and everything in it.

    Raises KeyError for a rule without a reason in REASONS.
    """
    _suppress(construct, {rule: REASONS[rule] for rule in rules})


def suppress_objects(construct: Construct, *patterns: str) -> None:
    """Suppress the findings about policies on the objects that the patterns match, for this construct and below."""
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
    """Return the id that cdk-nag gives to the finding about the objects of a pattern."""
    return f"IAM5[Resource::arn:<AWS::Partition>:s3:::{pattern.replace('${AWS::AccountId}', '<AWS::AccountId>')}]"
