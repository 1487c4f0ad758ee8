"""The release that the file is written for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lint.finding import Severity
from lint.node import LintedNode
from lint.release_of import nearest_label
from lint.rule import Violation, rule


@rule(
    id="WB110",
    severity=Severity.INFO,
    title="a release that is not known",
    because="keys, defaults, Java and defects differ by release",
    fix="give --release, such as emr-7.12.0",
    source="EMR Release Guide, emr-release-app-versions-7.x",
    proof="the rule reports only what lint cannot check",
    of_hbase=False,
    of_hbase_1=True,
)
def _release(node: LintedNode) -> Iterator[Violation]:
    label = node.subject.release_label
    if label is None:
        yield Violation(
            classification="", message="nothing says which release this is for; rules about some are silent"
        )
    elif node.release is None:
        why = "is no release label; rules about some releases are silent"
        yield Violation(classification="", message=f"{label!r} {why}", fix=f"write {nearest_label(label)}")
    elif node.has_hbase_1:
        asked = "only what holds for any HBase, or without one, was asked"
        yield Violation(classification="", message=f"{label} ships an HBase before 2: {asked}", fix=OLDER_FIX)
    elif node.release.hbase < HBASE_26:
        unasked = "keys and defaults of its version, and known bugs, were not asked about"
        yield Violation(classification="", message=f"{label} ships an HBase before 2.6: {unasked}", fix=OLDER_FIX)
    elif not node.exact:
        yield Violation(classification="", message=f"{label} is not in our table; it is taken for {node.release.label}")


HBASE_26: Final = (2, 6, 0)
OLDER_FIX: Final = "use emr-7.6.0 or later where the cache is to survive a restart"
