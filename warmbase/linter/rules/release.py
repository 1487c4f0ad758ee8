"""The release that the file is written for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.facts.releases import SPARK_ONLY, nearest_label, unknown_release
from warmbase.facts.table import today
from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import Rule, Violation, emr_rule


@Rule(
    id="WB110",
    severity=Severity.INFO,
    title="the release is missing or unknown",
    because="keys, defaults, Java and known bugs differ between releases",
    fix="pass --release, such as emr-7.14.0",
    source="EMR Release Guide, emr-release-app-versions-7.x",
    proof="the rule reports only what lint cannot check",
    of_hbase=False,
    of_hbase_1=True,
)
def _release(node: LintedNode) -> Iterator[Violation]:
    label = node.subject.release_label
    if label is None:
        yield Violation(
            "",
            "the file does not name its release, so rules about particular releases report nothing",
            classification="",
        )
    elif SPARK_ONLY.fullmatch(label):
        unknown = unknown_release(label)
        yield Violation("", f"{label} {unknown.why}", classification="", fix=unknown.fix)
    elif node.release is None:
        why = "is not a release label, so rules about particular releases report nothing"
        yield Violation("", f"{label!r} {why}", classification="", fix=f"write {nearest_label(label)}")
    elif node.has_hbase_1:
        checked = "lint checked only what holds for any HBase, or without HBase"
        yield Violation("", f"{label} ships an HBase before 2: {checked}", classification="", fix=OLDER_FIX)
    elif node.release.hbase < HBASE_26:
        unchecked = "lint did not check its keys and defaults, nor its known bugs"
        yield Violation("", f"{label} ships an HBase before 2.6: {unchecked}", classification="", fix=OLDER_FIX)
    elif not node.exact:
        unknown = unknown_release(label)
        message = f"{label} {unknown.why}; lint treats it as {node.release.label}"
        yield Violation("", message, classification="", fix=unknown.fix)


@emr_rule(
    id="WB116",
    severity=Severity.WARNING,
    consequence=Consequence.NOT_SAFE,
    title="release past its standard support",
    because="AWS no longer fixes defects or security holes in it",
    fix="launch a new cluster on a newer release",
    source="EMR Release Guide, the table of supported lifecycle on the release's page, and emr-standard-support",
)
def _past_support(node: LintedNode) -> Iterator[Violation]:
    until = node.release.support_until if node.release else None
    if until and until < today():
        label = node.subject.release_label
        yield Violation("", f"standard support of {label} ended on or before {until}", classification="")


HBASE_26: Final = (2, 6, 0)
OLDER_FIX: Final = "use emr-7.6.0 or later if the cache must survive a restart"
