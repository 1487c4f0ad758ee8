"""One rule: its check, what it reports, why that matters, how to mend it, and how it is proven."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

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

    `fix` and `consequence` replace the rule's own where the check knows more. `edit` mends the setting, and is None
    where a person must decide.
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


def no_check(_: LintedNode) -> Iterable[Violation]:
    """Yield nothing: a rule has this check until it decorates a function."""
    return ()


class Rule(Struct, frozen=True, kw_only=True):
    """A rule, which decorates the function that checks it.

    `roles` are the node roles that the rule checks; `hbase` and `emr` are the versions that it is about.

    `proof` is BOOTED, or says why no boot shows the rule. A rule about some versions is silent where the release is
    not known. A rule `of_hbase` is silent where HBase is not installed. HBase 1 behaves too differently: for a release
    with HBase 1, only a rule `of_hbase_1` reports anything, or one whose span of HBase versions includes it.
    `consequence` is None if the severity's usual consequence applies.
    """

    id: str
    severity: Severity
    title: str
    because: str
    fix: str
    source: str
    proof: str
    check: Check = no_check
    roles: tuple[str, ...] = ("core",)
    hbase: Span = ANY
    emr: Span = ANY
    of_hbase: bool = True
    of_hbase_1: bool = False
    consequence: Consequence | None = None

    def __call__(self, check: Check) -> Rule:
        """Return the rule with its check."""
        return replace(self, check=check)

    @property
    def effect(self) -> Consequence:
        """Return what happens if nobody mends the finding."""
        return self.consequence or USUAL[self.severity]

    def findings(self, node: LintedNode) -> Iterator[LintFinding]:
        """Yield the findings about one node; none where the rule is not about such a node."""
        if node.role not in self.roles or (self.of_hbase and not node.has_hbase):
            return
        if node.has_hbase_1 and not self.of_hbase_1 and self.hbase == ANY:
            return
        if not self.hbase == self.emr == ANY:
            release = node.release
            if release is None or not (self.hbase.holds(release.hbase) and self.emr.holds(release.emr)):
                return
        for violation in self.check(node):
            key = violation.at
            at = node.setting(key, violation.classification) if isinstance(key, str) else key
            yield LintFinding(
                id=self.id,
                severity=self.severity,
                classification=at.classification if at else violation.classification,
                property=at.key if at else str(key),
                value=at.value if at else None,
                message=violation.message,
                because=f"{self.because} ({self.source})",
                fix=violation.fix or self.fix,
                line=violation.line if violation.line is not None else (at.line if at else None),
                overridden=at.overridden if at else False,
                consequence=violation.consequence or self.effect,
                edit=violation.edit,
            )


emr_rule = partial(Rule, proof=NO_AWS, of_hbase=False, of_hbase_1=True)
"""A rule about EMR itself, which holds whatever runs on it and which no boot can show."""
emr_hbase_rule = partial(Rule, proof=NO_AWS, of_hbase_1=True)
"""A rule about any HBase on EMR, which no boot can show."""
