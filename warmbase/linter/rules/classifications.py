"""The release that the file is written for, its classifications, and the variables in their export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from warmbase.configurations.properties.property import Span
from warmbase.emr.cluster_spec import PLACEHOLDER, ClassificationPath
from warmbase.facts import today
from warmbase.facts.keys.nearest import near_misses
from warmbase.facts.releases import SPARK_ONLY, classifications, nearest_label, unknown_release
from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import Rule, Violation, emr_hbase_rule, emr_rule


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
        why, fix = unknown_release(label)
        yield Violation("", f"{label} {why}", classification="", fix=fix)
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
        why, fix = unknown_release(label)
        message = f"{label} {why}; lint treats it as {node.release.label}"
        yield Violation("", message, classification="", fix=fix)


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


BOTH: Final = ("primary", "core")
EXPORT: Final = "export"
TABLE_FROM: Final = (7, 0, 0)
VARIABLE: Final = re.compile(r"HBASE_\w+|JAVA_HOME")
REJECTED: Final = "EMR rejects an unknown classification, and the cluster does not start"
LOG4J_2: Final = "HBase-release-history-changes-790"
APPS: Final = "EMR Release Guide, emr-configure-apps"


@emr_rule(
    id="WB108",
    severity=Severity.ERROR,
    title="logging classification that the release no longer has",
    because=REJECTED,
    fix="use hbase-log4j2, with properties in Log4j 2 syntax",
    source=f"EMR Release Guide, {LOG4J_2}",
    emr=Span(since=(7, 9, 0)),
)
def _old_logging(node: LintedNode) -> Iterator[Violation]:
    for path, line in node.subject.classifications.items():
        if path == "hbase-log4j":
            yield Violation("", f"EMR 7.9 removed {path}", classification=path, line=line)


@emr_rule(
    id="WB109",
    severity=Severity.ERROR,
    title="logging classification that the release does not have yet",
    because=REJECTED,
    fix="use hbase-log4j, or emr-7.9.0 or later",
    source=f"EMR Release Guide, {LOG4J_2}",
    emr=Span(until=(7, 9, 0)),
)
def _new_logging(node: LintedNode) -> Iterator[Violation]:
    for path, line in node.subject.classifications.items():
        if path == "hbase-log4j2":
            yield Violation("", f"{path} exists only from EMR 7.9 on", classification=path, line=line)


def _unlisted(node: LintedNode) -> Iterator[tuple[ClassificationPath, int | None]]:
    """Yield the outermost classifications that EMR does not document, without placeholders."""
    for path, line in node.subject.classifications.items():
        outer = path.rpartition("/")[0]
        if path not in classifications() and (not outer or outer in classifications()) and not PLACEHOLDER.search(path):
            yield path, line


@emr_rule(
    id="WB112",
    severity=Severity.ERROR,
    title="unknown classification, close to a real one",
    because=REJECTED,
    fix="write the classification that exists",
    source="EMR Release Guide, the page of each release",
)
def _slip(node: LintedNode) -> Iterator[Violation]:
    for path, line in _unlisted(node):
        nearest = _nearest_classification(path)
        if path == EXPORT:
            why = "export is only valid inside a classification that ends in -env"
            yield Violation(
                "",
                why,
                classification=path,
                line=line,
                fix="move it into hbase-env, or the classification that it belongs to",
            )
        elif nearest:
            why = f"there is no classification {path}; did you mean {nearest}?"
            yield Violation("", why, classification=path, line=line, fix=f"write {nearest.rpartition('/')[2]}")


@emr_rule(
    id="WB113",
    severity=Severity.WARNING,
    consequence=Consequence.WILL_NOT_START,
    title="classification that EMR does not document",
    because=REJECTED,
    fix="check the release's page in the EMR Release Guide, or remove the classification",
    source="EMR Release Guide, the page of each 7.x release",
)
def _unknown(node: LintedNode) -> Iterator[Violation]:
    """Releases before 7 have classifications that the table lacks."""
    if node.release and node.release.emr < TABLE_FROM:
        return
    for path, line in _unlisted(node):
        name = path.rpartition("/")[2]
        elsewhere = sorted(
            classification for classification in classifications() if classification.rpartition("/")[2] == name
        )
        if path != EXPORT and not _nearest_classification(path):
            fix = f"move it to where EMR documents it: {elsewhere[0]}" if elsewhere else None
            yield Violation("", f"EMR documents no classification {path}", classification=path, line=line, fix=fix)


def _nearest_classification(path: ClassificationPath) -> ClassificationPath | None:
    """Return the classification at the same level that a name is close to; another version of Log4j does not count."""
    beside = [
        classification
        for classification in classifications()
        if classification.rpartition("/")[0] == path.rpartition("/")[0]
    ]
    near = near_misses(path, beside, most_edits=1)
    return next((name for name in near if name.removesuffix("2") != path.removesuffix("2")), None)


@emr_hbase_rule(
    id="WB114",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="environment variable outside export",
    because="EMR reads variables only from the export classification that is nested inside",
    fix="move it into export, a classification nested inside hbase-env",
    source=APPS,
    roles=BOTH,
)
def _outside_export(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        if path == "hbase-env" and VARIABLE.fullmatch(key):
            yield Violation(setting, f"{key} is in hbase-env itself, not in its export")
