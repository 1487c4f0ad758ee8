"""Applies all rules to a cluster and returns the findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from emr.cluster_spec import ClusterSpec
from lint.edit import EditAction
from lint.finding import LintFinding, Report, Severity
from lint.node import LintedNode
from lint.release_of import release_of
from lint.rule import Rule, findings_of
from lint.rules import RULES
from lint.secret import REDACTED, is_secret

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
            subject=subject,
            role=role,
            release=linted.release,
            exact=linted.exact,
            settings=subject.effective(role),
        )
        for role in roles
    ]
    findings = _once(finding for rule in rules for node in nodes for finding in findings_of(rule, node))
    return Report(
        source=subject.source,
        release=subject.release_label,
        findings=tuple(sorted(map(_without_secret, _without_repeats(findings)), key=_order)),
        replaced_release=subject.replaced_label,
    )


def _once(findings: Iterable[LintFinding]) -> list[LintFinding]:
    """Return findings without duplicates, which settings of the whole cluster cause for each role."""
    return list(dict.fromkeys(findings))


def _without_repeats(findings: Sequence[LintFinding]) -> Iterator[LintFinding]:
    explained = {
        (finding.classification, finding.property)
        for finding in findings
        if finding.severity is Severity.ERROR and finding.id not in GENERAL and finding.value is not None
    }
    return (
        finding
        for finding in findings
        if finding.id not in GENERAL or (finding.classification, finding.property) not in explained
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


def _order(finding: LintFinding) -> tuple[int, int, str, str]:
    return GRAVITY[finding.severity], finding.line or 0, finding.id, finding.property
