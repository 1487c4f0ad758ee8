"""One rule: what is wrong, why, how to mend it, where that is known from, and for which versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from configurations.properties.property import ANY, Span
from emr.cluster_spec import Setting
from lint.finding import LintFinding, Severity
from lint.node import SITE, LintedNode

__all__ = ["Check", "Rule", "Violation", "findings_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """What a check saw: `at` is the setting, or else classification and property say what is not stated.

    `fix` replaces the rule's own where the check knows better.
    """

    message: str
    at: Setting | None = None
    classification: str = SITE
    property: str = ""
    line: int | None = None
    fix: str | None = None


Check = Callable[[LintedNode], Iterable[Violation]]
"""What is wrong with one kind of node; silent where what it needs is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`roles` are those whose nodes it looks at; `hbase` and `emr` the versions it is about.

    A rule about some versions is silent where the release is not known. One `of_hbase` is silent where HBase is not
    installed. What HBase 1 does differs too much: of a release with it only a rule `of_hbase_1` speaks, or one whose
    span of HBase holds it.
    """

    id: str
    severity: Severity
    what: str
    because: str
    fix: str
    source: str
    check: Check
    roles: tuple[str, ...] = ("core",)
    hbase: Span = ANY
    emr: Span = ANY
    of_hbase: bool = True
    of_hbase_1: bool = False

    def concerns(self, node: LintedNode) -> bool:
        """Return whether it is about such a node."""
        if node.role not in self.roles or (self.of_hbase and not node.has_hbase):
            return False
        if node.has_hbase_1 and not self.of_hbase_1 and self.hbase == ANY:
            return False
        if self.hbase == self.emr == ANY:
            return True
        return node.release is not None and self.hbase.holds(node.release.hbase) and self.emr.holds(node.release.emr)


def findings_of(rule: Rule, node: LintedNode) -> Iterable[LintFinding]:
    """Yield what a rule finds about a node."""
    if not rule.concerns(node):
        return
    for found in rule.check(node):
        at = found.at
        yield LintFinding(
            id=rule.id,
            severity=rule.severity,
            classification=at.classification if at else found.classification,
            property=at.key if at else found.property,
            value=at.value if at else None,
            message=found.message,
            because=f"{rule.because} ({rule.source})",
            fix=found.fix or rule.fix,
            line=found.line if found.line is not None else (at.line if at else None),
            overridden=at.overridden if at else False,
        )
