"""One rule: its check, what it reports, why that matters, how to mend it, and how it is proven."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NotRequired, TypedDict, Unpack

from msgspec import Struct

from warmbase.configurations.properties.property import ANY, Span
from warmbase.emr.cluster_spec import Setting
from warmbase.linter.finding import Consequence, Edit, LintFinding, Severity
from warmbase.linter.node import SITE, LintedNode

BOOTED: Final = "booted"
"""The lab boots HBase with a file that breaks the rule, and HBase does what the rule says."""
# Reasons why no boot proves a rule that more than one module gives; others stand beside their rule.
NO_AWS: Final = "the lab has no EMR, EC2, S3 or CloudWatch"
NEEDS_LOAD: Final = "the loss shows only with data, over hours, or on a full volume"
NEEDS_RESTARTS: Final = "it takes restarts of a loaded cluster"
USUAL: Final = {
    Severity.ERROR: Consequence.WILL_NOT_START,
    Severity.WARNING: Consequence.SLOW_OR_DEAR,
    Severity.INFO: Consequence.GOOD_TO_KNOW,
}
"""The consequence of a rule that names none, by its severity."""


class Violation(Struct, frozen=True):
    """One place that breaks a rule: a setting, or the key of one that may be missing, with its classification.

    `fix` and `consequence` replace the rule's own where the check knows better. `edit` mends the setting, and is None
    where that takes a decision.
    """

    at: Setting | str
    message: str
    classification: str = SITE
    line: int | None = None
    fix: str | None = None
    consequence: Consequence | None = None
    edit: Edit | None = None


Check = Callable[[LintedNode], Iterable[Violation]]
"""Yields the violations of one kind of node; yields nothing where the values that it needs are not known."""


class Rule(Struct, frozen=True, kw_only=True):
    """`roles` are the node roles that the rule checks; `hbase` and `emr` are the versions that it is about.

    `proof` is BOOTED, or says why no boot shows the rule. A rule about some versions is silent where the release is
    not known. A rule `of_hbase` is silent where HBase is not installed. HBase 1 behaves too differently: for a release
    with HBase 1, only a rule `of_hbase_1` reports anything, or one whose span of HBase versions includes it.
    `consequence` is None where the severity's usual one holds.
    """

    id: str
    severity: Severity
    title: str
    because: str
    fix: str
    source: str
    proof: str
    check: Check
    roles: tuple[str, ...] = ("core",)
    hbase: Span = ANY
    emr: Span = ANY
    of_hbase: bool = True
    of_hbase_1: bool = False
    consequence: Consequence | None = None

    @property
    def effect(self) -> Consequence:
        """Return what happens if nobody mends the finding."""
        return self.consequence or USUAL[self.severity]

    def concerns(self, node: LintedNode) -> bool:
        """Return whether the rule is about such a node."""
        if node.role not in self.roles or (self.of_hbase and not node.has_hbase):
            return False
        if node.has_hbase_1 and not self.of_hbase_1 and self.hbase == ANY:
            return False
        if self.hbase == self.emr == ANY:
            return True
        return node.release is not None and self.hbase.holds(node.release.hbase) and self.emr.holds(node.release.emr)


class _Fields(TypedDict):
    """The fields of a rule, as `@rule` takes them."""

    id: str
    severity: Severity
    title: str
    because: str
    fix: str
    source: str
    proof: str
    roles: NotRequired[tuple[str, ...]]
    hbase: NotRequired[Span]
    emr: NotRequired[Span]
    of_hbase: NotRequired[bool]
    of_hbase_1: NotRequired[bool]
    consequence: NotRequired[Consequence]


def rule(**fields: Unpack[_Fields]) -> Callable[[Check], Rule]:
    """Return a decorator that makes a check the rule with these fields."""
    return lambda check: Rule(check=check, **fields)


emr_rule = partial(rule, proof=NO_AWS, of_hbase=False, of_hbase_1=True)
"""A rule about EMR itself, which holds whatever runs on it and which no boot can show."""


def findings_of(rule: Rule, node: LintedNode) -> Iterable[LintFinding]:
    """Yield the findings of one rule about one node."""
    if not rule.concerns(node):
        return
    for violation in rule.check(node):
        key = violation.at
        at = node.setting(key, violation.classification) if isinstance(key, str) else key
        yield LintFinding(
            id=rule.id,
            severity=rule.severity,
            classification=at.classification if at else violation.classification,
            property=at.key if at else str(key),
            value=at.value if at else None,
            message=violation.message,
            because=f"{rule.because} ({rule.source})",
            fix=violation.fix or rule.fix,
            line=violation.line if violation.line is not None else (at.line if at else None),
            overridden=at.overridden if at else False,
            consequence=violation.consequence or rule.effect,
            edit=violation.edit,
        )
