"""A subject and all rules in, findings out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from emr.cluster_spec import ClusterSpec
from lint.finding import LintFinding, Report, Severity
from lint.node import LintedNode
from lint.release_of import release_of
from lint.rule import Rule, findings_of
from lint.rules import RULES
from lint.secret import NOT_SHOWN, is_secret

__all__ = ["lint"]

LEAST_SECRET: Final = 8
"""A shorter text is part of many a word."""
ROLES: Final = ("primary", "core")
GRAVITY: Final = {severity: rank for rank, severity in enumerate(Severity)}
GENERAL: Final = frozenset({"WB103", "WB104"})
"""What the tables say of a key and a value; a rule that knows more of the same setting replaces them."""


def lint(subject: ClusterSpec, rules: Sequence[Rule] = RULES, roles: Sequence[str] = ROLES) -> Report:
    """Everything that the rules find about nodes of those roles, errors first, then by line."""
    known = release_of(subject.release_label)
    nodes = [
        LintedNode(
            subject=subject,
            role=role,
            release=known.release,
            exact=known.exact,
            settings=subject.effective(role),
        )
        for role in roles
    ]
    found = _once(finding for rule in rules for node in nodes for finding in findings_of(rule, node))
    return Report(
        source=subject.source,
        release=subject.release_label,
        findings=tuple(sorted(map(_without_secret, _without_repeats(found)), key=_order)),
    )


def _once(findings: Iterable[LintFinding]) -> list[LintFinding]:
    """Both kinds of nodes see what is stated for the whole cluster."""
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
    """No credential is printed, whichever rule speaks of it: what lint says is kept in logs."""
    if finding.value is None or not is_secret(finding.property, finding.value):
        return finding
    message, fix = (text.replace(finding.value.strip(), NOT_SHOWN) for text in (finding.message, finding.fix))
    if len(finding.value) < LEAST_SECRET:
        message, fix = finding.message, finding.fix
    return replace(finding, value=NOT_SHOWN, message=message, fix=fix)


def _order(finding: LintFinding) -> tuple[int, int, str, str]:
    return GRAVITY[finding.severity], finding.line or 0, finding.id, finding.property
