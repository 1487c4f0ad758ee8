"""Classifications that exist in the release, and variables in their export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from configurations.properties.property import Span
from emr.classification import ClassificationPath
from emr.cluster_spec import PLACEHOLDER
from facts.classifications import classifications
from facts.keys.nearest import near_misses
from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import NO_AWS, Violation, rule

BOTH: Final = ("primary", "core")
EXPORT: Final = "export"
TABLE_FROM: Final = (7, 0, 0)
VARIABLE: Final = re.compile(r"HBASE_\w+|JAVA_HOME")
LOG4J_2: Final = "HBase-release-history-changes-790"
APPS: Final = "EMR Release Guide, emr-configure-apps"
_REFUSED: Final = "EMR refuses a classification that it does not know, and the cluster does not start"


@rule(
    id="WB108",
    severity=Severity.ERROR,
    title="logging set by a classification that is gone",
    because=_REFUSED,
    fix="use hbase-log4j2, in Log4j 2's own form",
    source=f"EMR Release Guide, {LOG4J_2}",
    proof=NO_AWS,
    emr=Span(since=(7, 9, 0)),
    of_hbase=False,
    of_hbase_1=True,
)
def _old_logging(node: LintedNode) -> Iterator[Violation]:
    for path, line in node.subject.classifications.items():
        if path == "hbase-log4j":
            yield Violation(classification=path, line=line, message=f"{path} was removed with EMR 7.9")


@rule(
    id="WB109",
    severity=Severity.ERROR,
    title="logging set by a classification that is not there yet",
    because=_REFUSED,
    fix="use hbase-log4j, or EMR 7.9 or later",
    source=f"EMR Release Guide, {LOG4J_2}",
    proof=NO_AWS,
    emr=Span(until=(7, 9, 0)),
    of_hbase=False,
    of_hbase_1=True,
)
def _new_logging(node: LintedNode) -> Iterator[Violation]:
    for path, line in node.subject.classifications.items():
        if path == "hbase-log4j2":
            yield Violation(classification=path, line=line, message=f"{path} came with EMR 7.9")


def _unlisted(node: LintedNode) -> Iterator[tuple[ClassificationPath, int | None]]:
    """Yield what EMR does not document: the outermost of them, and no gap."""
    for path, line in node.subject.classifications.items():
        outer = path.rpartition("/")[0]
        if path not in classifications() and (not outer or outer in classifications()) and not PLACEHOLDER.search(path):
            yield path, line


@rule(
    id="WB112",
    severity=Severity.ERROR,
    title="a classification that is a slip of a real one",
    because=_REFUSED,
    fix="write the classification that exists",
    source="EMR Release Guide, the page of each release",
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _slip(node: LintedNode) -> Iterator[Violation]:
    for path, line in _unlisted(node):
        meant = _nearest_classification(path)
        if path == EXPORT:
            why = "export stands inside a classification that ends in -env, and nowhere else"
            yield Violation(classification=path, line=line, message=why, fix="move it into hbase-env, or whose it is")
        elif meant:
            why = f"there is no classification {path}; {meant} is one"
            yield Violation(classification=path, line=line, message=why, fix=f"write {meant.rpartition('/')[2]}")


@rule(
    id="WB113",
    severity=Severity.WARNING,
    title="a classification that EMR does not document",
    because=_REFUSED,
    fix="look for it on the page of your release, or leave it out",
    source="EMR Release Guide, the page of each 7.x release",
    proof=NO_AWS,
    of_hbase=False,
    of_hbase_1=True,
)
def _unknown(node: LintedNode) -> Iterator[Violation]:
    """Releases before 7 have some that the table does not."""
    if node.release and node.release.emr < TABLE_FROM:
        return
    for path, line in _unlisted(node):
        name = path.rpartition("/")[2]
        elsewhere = sorted(
            classification for classification in classifications() if classification.rpartition("/")[2] == name
        )
        if path != EXPORT and not _nearest_classification(path):
            fix = f"put it where EMR has it: {elsewhere[0]}" if elsewhere else None
            yield Violation(classification=path, line=line, message=f"EMR documents no classification {path}", fix=fix)


def _nearest_classification(path: ClassificationPath) -> ClassificationPath | None:
    """The classification of the same place that the last name is a slip of; another version of Log4j is none."""
    beside = [
        classification
        for classification in classifications()
        if classification.rpartition("/")[0] == path.rpartition("/")[0]
    ]
    near = near_misses(path, beside, most_edits=1)
    return next((each for each in near if each.removesuffix("2") != path.removesuffix("2")), None)


@rule(
    id="WB114",
    severity=Severity.ERROR,
    title="a variable outside of export",
    because="EMR takes variables from the export that nests in the classification, and from nowhere else",
    fix="move it into export, a classification of its own inside hbase-env",
    source=APPS,
    proof=NO_AWS,
    roles=BOTH,
    of_hbase_1=True,
)
def _outside_export(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        if path == "hbase-env" and VARIABLE.fullmatch(key):
            yield Violation(at=setting, message=f"{key} stands in hbase-env itself, and not in its export")
