"""WB9..: nothing secret in a configuration: whoever may describe the cluster reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import Rule, Violation
from lint.secret import holds_credential

__all__ = ["SECRETS"]


def _static_credentials(node: LintedNode) -> Iterator[Violation]:
    for (_, key), setting in node.settings.items():
        if holds_credential(key, setting.value):
            yield Violation(at=setting, message=f"{key} {'is for' if setting.is_placeholder else 'holds'} a credential")


SECRETS: Final = (
    Rule(
        id="WB901",
        severity=Severity.ERROR,
        what="a static credential",
        check=_static_credentials,
        roles=("primary", "core"),
        because="DescribeCluster shows it, logs keep it, and nobody rotates it",
        fix="remove it: nodes have the instance profile's role",
        source="EMR Management Guide, emr-iam-role-for-ec2",
        of_hbase=False,
        of_hbase_1=True,
    ),
)
