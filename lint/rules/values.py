"""Values: accepted by the property, quoted, stated once, and filled in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from configurations.properties import CATALOGUE
from lint.finding import Severity
from lint.node import SITE, LintedNode
from lint.rule import BOOTED, NO_AWS, Violation, rule
from lint.rules.keys import SITES

BOTH: Final = ("primary", "core")
MEMBERS: Final = ("Properties", "ConfigurationProperties", "Configurations")


@rule(
    id="WB104",
    severity=Severity.ERROR,
    title="a value that the property does not take",
    because="some such values stop a daemon at its start, others are silently replaced by the default",
    fix="use a value that it takes",
    source="HBase 2.6.2 and Hadoop 3.4.1 sources",
    proof=BOOTED,
    roles=BOTH,
    of_hbase=False,
)
def _value(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        known = CATALOGUE.get((path, key)) or (CATALOGUE.get((SITE, key)) if path in SITES else None)
        if known is None or setting.is_placeholder:
            continue
        why = known.values.refusal(setting.value)
        if why is not None:
            yield Violation(
                at=setting,
                message=f"{key}: {why}",
                fix=f"use {known.values}{f', in {known.unit}' if known.unit else ''}",
            )


@rule(
    id="WB106",
    severity=Severity.INFO,
    title="a value that is still to be filled in",
    because="a gap is not checked, and EMR would take it as it stands",
    fix="fill it in; warmbase plan works it out from the workload",
    source="the file itself",
    proof=NO_AWS,
    roles=BOTH,
    of_hbase=False,
    of_hbase_1=True,
)
def _gap(node: LintedNode) -> Iterator[Violation]:
    for setting in node.settings.values():
        unset = not setting.value.strip() and (setting.classification, setting.key) not in CATALOGUE
        if setting.is_placeholder and not unset:
            known = CATALOGUE.get((setting.classification, setting.key))
            what = f": {known.values}{f', in {known.unit}' if known.unit else ''}; {known.reason}" if known else ""
            yield Violation(at=setting, message=f"{setting.key} is still to be filled in{what}")


@rule(
    id="WB107",
    severity=Severity.ERROR,
    title="a property stated twice",
    because="only the last counts, and a reader cannot tell which was meant",
    fix="remove one of the two",
    source="EMR keeps a map for each classification",
    proof=NO_AWS,
    roles=BOTH,
    of_hbase=False,
    of_hbase_1=True,
)
def _twice(node: LintedNode) -> Iterator[Violation]:
    """Each is the later statement. A classification named again is none: only a property of it can be."""
    for setting in node.subject.twice:
        if setting.key in MEMBERS:
            yield Violation(
                at=setting, message=f"{setting.key} stands twice in one entry, and what the first holds is lost"
            )
        elif setting.key != "Classification":
            yield Violation(at=setting, message=f"{setting.key} is stated before, and of the two this one counts")


@rule(
    id="WB115",
    severity=Severity.WARNING,
    title="a value without quotes",
    because="EMR's API takes texts alone, and the AWS CLI refuses the whole configuration",
    fix="put the value in quotes",
    source="EMR API reference, Configuration",
    proof=NO_AWS,
    roles=BOTH,
    of_hbase=False,
    of_hbase_1=True,
)
def _unquoted(node: LintedNode) -> Iterator[Violation]:
    for setting in node.settings.values():
        if not setting.quoted:
            yield Violation(
                at=setting,
                message=f"the value of {setting.key} is a number or a switch of JSON",
                fix=f'write "{setting.value}"',
            )
