"""Values: accepted by the property, quoted, stated once, and filled in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from configurations.properties import CATALOGUE, Property
from emr.cluster_spec import BLANK_TO_FILL, Setting
from facts.keys import hbase_keys
from lint.amount import right_value
from lint.default_kind import default_kind
from lint.edit import Edit, new_value
from lint.finding import Consequence, Severity
from lint.node import SITE, LintedNode
from lint.rule import BOOTED, Violation, emr_rule, rule
from lint.rules.keys import SITES

BOTH: Final = ("primary", "core")
MEMBERS: Final = ("Properties", "ConfigurationProperties", "Configurations")


@rule(
    id="WB104",
    severity=Severity.ERROR,
    title="value that the property does not accept",
    because="some such values stop a daemon at start; others are silently replaced by the default",
    fix="use a value that the property accepts",
    source="HBase 2.6.2 and Hadoop 3.4.1 sources",
    proof=BOOTED,
    roles=BOTH,
    of_hbase=False,
)
def _value(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        entry = CATALOGUE.get((path, key)) or (CATALOGUE.get((SITE, key)) if path in SITES else None)
        if entry is None or setting.is_placeholder:
            continue
        why = entry.values.refusal(setting.value)
        if why is not None:
            yield Violation(at=setting, message=why, fix=f"use {_accepted(entry)}", edit=_certain_edit(entry, setting))


def _certain_edit(entry: Property, setting: Setting) -> Edit | None:
    value = right_value(entry.values, setting.value)
    return None if value is None else new_value(value)


def _accepted(entry: Property) -> str:
    return f"{entry.values}, in {entry.unit}" if entry.unit else str(entry.values)


@rule(
    id="WB117",
    severity=Severity.WARNING,
    title="value of another kind than HBase's own default",
    because="HBase reads numbers with Configuration.getInt and getLong, which throw an exception for other texts, and"
    " uses the default of a switch whose value is neither true nor false",
    fix="write a value of the same kind as the default, without a unit",
    source="HBase's defaults by version (facts/keys/hbase.csv); Hadoop 3.4.1 Configuration",
    proof="the catalogue has the keys that matter to the cache, and a boot for WB104 shows what a bad number does",
    roles=BOTH,
    of_hbase=False,
)
def _kind(node: LintedNode) -> Iterator[Violation]:
    """Yield values of keys outside our catalogue; WB104 knows the others better."""
    for (path, key), setting in node.settings.items():
        known, catalogued = hbase_keys().get(key), {(path, key), (SITE, key)} & CATALOGUE.keys()
        if path not in SITES or known is None or catalogued or setting.is_placeholder:
            continue
        version = node.release.hbase if node.release else None
        default = known.default_in(version) if version else known.defaults[known.versions[-1]]
        kind = default_kind(default)
        if kind and not kind.accepts(setting.value):
            yield Violation(
                at=setting,
                message=f"{key}: {setting.value!r} is not {kind.name}; HBase's default is {default}",
                consequence=kind.consequence,
            )


@emr_rule(
    id="WB106",
    severity=Severity.INFO,
    consequence=Consequence.WILL_NOT_START,
    title="placeholder that nobody has filled in",
    because="EMR uses the text of the placeholder as the value, and lint cannot check it",
    fix="write a value; `warmbase plan` computes sizes and counts from your workload",
    source="the file itself",
    roles=BOTH,
)
def _gap(node: LintedNode) -> Iterator[Violation]:
    for setting in node.settings.values():
        unset = not setting.value.strip() and (setting.classification, setting.key) not in CATALOGUE
        if not setting.is_placeholder or unset:
            continue
        entry = CATALOGUE.get((setting.classification, setting.key))
        hint = f"; it takes {_accepted(entry)} ({entry.reason})" if entry else ""
        if node.subject.fills_in and not BLANK_TO_FILL.search(setting.value):
            yield Violation(
                at=setting,
                message=f"{setting.key} has a variable, so lint cannot check its value{hint}",
                fix="check the value that the variable gets",
                consequence=Consequence.GOOD_TO_KNOW,
            )
        else:
            yield Violation(at=setting, message=f"{setting.key} still has a placeholder{hint}")


@emr_rule(
    id="WB107",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="property set twice",
    because="only the last value counts, and a reader cannot tell which one was meant",
    fix="remove one of the two",
    source="EMR keeps a map for each classification",
    roles=BOTH,
)
def _twice(node: LintedNode) -> Iterator[Violation]:
    """Yield the later of two values. A classification may occur twice, but not a property of it."""
    for setting in node.subject.twice:
        if setting.key in MEMBERS:
            yield Violation(
                at=setting, message=f"{setting.key} occurs twice in one entry; the content of the first is lost"
            )
        elif setting.key != "Classification":
            yield Violation(at=setting, message=f"{setting.key} is already set above; only this value counts")


@emr_rule(
    id="WB115",
    severity=Severity.WARNING,
    consequence=Consequence.WILL_NOT_START,
    title="value without quotes",
    because="EMR's API accepts strings only, and the AWS CLI rejects the whole configuration",
    fix="put the value in quotes",
    source="EMR API reference, Configuration",
    roles=BOTH,
)
def _unquoted(node: LintedNode) -> Iterator[Violation]:
    for setting in node.settings.values():
        if not setting.quoted:
            yield Violation(
                at=setting,
                message=f"the value of {setting.key} is a JSON number or boolean, not a string",
                fix=f'write "{setting.value}"',
                edit=new_value(setting.value),
            )
