"""The findings of all rules on a cluster, and the launch that may be deployed: one in which lint finds no error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from warmbase.configurations.launch import Launch, launch_of, planned_spec
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.environments.environment import Environment
from warmbase.environments.reader import shared_roots
from warmbase.facts.releases import release_of
from warmbase.ground.errors import Infeasible, InvalidInput, Problem
from warmbase.ground.secret import REDACTED, is_secret
from warmbase.linter.finding import EditAction, LintFinding, Report, Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import Rule
from warmbase.linter.rules import RULES
from warmbase.sizing.requirements import ClusterChoice

LEAST_SECRET: Final = 8
"""Shorter secrets are not replaced in messages, because many words contain them."""
ROLES: Final = ("primary", "core")
GRAVITY: Final = {severity: rank for rank, severity in enumerate(Severity)}
GENERAL: Final = frozenset({"WB103", "WB104"})
"""Rules about any key and value; a finding of a more specific rule about the same setting replaces theirs."""


def lint(subject: ClusterSpec, rules: Sequence[Rule] = RULES, roles: Sequence[str] = ROLES) -> Report:
    """Return the findings of all rules about nodes of these roles, errors first, then by line."""
    linted = release_of(subject.release_label)
    nodes = [
        LintedNode(
            subject=subject, role=role, release=linted.release, exact=linted.exact, settings=subject.effective(role)
        )
        for role in roles
    ]
    # A setting of the whole cluster causes the same finding for each role.
    findings = dict.fromkeys(finding for rule in rules for node in nodes for finding in rule.findings(node))
    explained = {
        (finding.classification, finding.property)
        for finding in findings
        if finding.severity is Severity.ERROR and finding.id not in GENERAL and finding.value is not None
    }
    shown = [
        _without_secret(finding)
        for finding in findings
        if finding.id not in GENERAL or (finding.classification, finding.property) not in explained
    ]
    shown.sort(key=lambda finding: (GRAVITY[finding.severity], finding.line or 0, finding.id, finding.property))
    return Report(
        source=subject.source,
        release=subject.release_label,
        findings=tuple(shown),
        replaced_release=subject.replaced_label,
    )


def _without_secret(finding: LintFinding) -> LintFinding:
    """Return a finding that shows no credential, because logs keep the output of lint."""
    if finding.value is None or not is_secret(finding.property, finding.value):
        return finding
    message, fix = (text.replace(finding.value.strip(), REDACTED) for text in (finding.message, finding.fix))
    if len(finding.value) < LEAST_SECRET:
        message, fix = finding.message, finding.fix
    edit = finding.edit if finding.edit and finding.edit.action is not EditAction.REPLACE_VALUE else None
    return replace(finding, value=REDACTED, message=message, fix=fix, edit=edit)


def check_deployable(launch: Launch) -> None:
    """Raise InvalidInput for each error that lint finds, and for a root that another environment file has too."""
    problems = shared_roots(launch.environment)
    if problems:
        raise InvalidInput(problems)
    refuse_errors(launch)


def refuse_errors(launch: Launch) -> None:
    """Raise InvalidInput with every error that lint finds in a launch: only overrides of the environment cause them."""
    errors = lint(planned_spec(launch)).of(Severity.ERROR)
    if errors:
        # An error has the line of its override, or else names all overrides, any of which may have caused it.
        environment = launch.environment
        overrides = ", ".join(override.where for override in environment.overrides) or environment.source
        raise InvalidInput(
            [
                Problem(
                    where=f"{environment.source}:{finding.line}" if finding.line else overrides,
                    what=f"{finding.id} {finding.classification} {finding.property}".strip(),
                    why=f"{finding.message}: {finding.because}",
                    fix=finding.fix,
                )
                for finding in errors
            ]
        )


def refused_settings(environment: Environment, cluster: ClusterChoice) -> frozenset[tuple[str, str]]:
    """Return each property in which lint finds an error, with its classification; an empty name stands for all of it.

    Returns none where no cluster meets the targets, because there is no configuration to check.
    """
    try:
        launch = launch_of(environment, cluster)
    except Infeasible:
        return frozenset()
    errors = lint(planned_spec(launch)).of(Severity.ERROR)
    return frozenset((finding.classification, finding.property) for finding in errors)
