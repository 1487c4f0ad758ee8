"""Credentials, which do not belong in a configuration."""

from __future__ import annotations

from collections.abc import Iterator

from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import Violation, emr_rule
from warmbase.linter.secret import holds_credential


@emr_rule(
    id="WB901",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="static credential",
    because="DescribeCluster returns it, logs store it, and nobody rotates it",
    fix="remove it; nodes use the role of their instance profile",
    source="EMR Management Guide, emr-iam-role-for-ec2",
    roles=("primary", "core"),
)
def _static_credentials(node: LintedNode) -> Iterator[Violation]:
    for (_, key), setting in node.settings.items():
        if holds_credential(key, setting.value):
            yield Violation(setting, f"{key} {'is meant for' if setting.is_placeholder else 'contains'} a credential")
