"""Values: accepted by the property, quoted, stated once, and filled in.

`right_value` is the one right way to write a value that a property refuses, where there is one. `default_kind` is the
kind of value that a key takes, as far as HBase's own default shows it: a whole number, a number, or a switch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from warmbase.configurations.properties import CATALOGUE, HBaseProperty
from warmbase.configurations.properties.property import Decimal, ListOf, Switch, Values, Whole
from warmbase.emr.cluster_spec import BLANK_TO_FILL, Setting
from warmbase.facts.keys import hbase_keys
from warmbase.linter.finding import Consequence, Edit, Severity, new_value
from warmbase.linter.node import SITE, LintedNode
from warmbase.linter.rule import BOOTED, Rule, Violation, emr_rule
from warmbase.linter.rules.keys import SITES

BOTH: Final = ("primary", "core")
MEMBERS: Final = ("Properties", "ConfigurationProperties", "Configurations")


@Rule(
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
            right = right_value(entry.values, setting.value)
            edit = None if right is None else new_value(right)
            yield Violation(setting, why, fix=f"use {_accepted(entry)}", edit=edit)


def _certain_edit(entry: HBaseProperty, setting: Setting) -> Edit | None:
    value = right_value(entry.values, setting.value)
    return None if value is None else new_value(value)


def _accepted(entry: HBaseProperty) -> str:
    return f"{entry.values}, in {entry.values.unit}" if entry.values.unit else str(entry.values)


@Rule(
    id="WB117",
    severity=Severity.WARNING,
    title="value of another kind than HBase's own default",
    because="HBase reads numbers with Configuration.getInt and getLong, which throw an exception for other texts, and"
    " uses the default of a switch whose value is neither true nor false",
    fix="write a value of the same kind as the default, without a unit",
    source="HBase's defaults by version (warmbase/facts/keys/hbase.csv); Hadoop 3.4.1 Configuration",
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
        # A value that names another property may be of any kind.
        if kind and "${" not in setting.value and not kind.form.fullmatch(setting.value.strip()):
            yield Violation(
                setting,
                f"{key}: {setting.value!r} is not {kind.name}; HBase's default is {default}",
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
                setting,
                f"{setting.key} has a variable, so lint cannot check its value{hint}",
                fix="check the value that the variable gets",
                consequence=Consequence.GOOD_TO_KNOW,
            )
        else:
            yield Violation(setting, f"{setting.key} still has a placeholder{hint}")


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
            yield Violation(setting, f"{setting.key} occurs twice in one entry; the content of the first is lost")
        elif setting.key != "Classification":
            yield Violation(setting, f"{setting.key} is already set above; only this value counts")


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
                setting,
                f"the value of {setting.key} is a JSON number or boolean, not a string",
                fix=f'write "{setting.value}"',
                edit=new_value(setting.value),
            )


AMOUNT: Final = re.compile(r"([0-9][0-9,_]*(?:\.[0-9]+)?)\s*([A-Za-z%]*)")
GROUPS_OF_THREE: Final = re.compile(r"[0-9]{1,3}(?:[,_][0-9]{3})+(?:\.[0-9]+)?")
BINARY: Final = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
BYTES: Final[Mapping[str, int]] = {
    suffix: 2**power for letter, power in BINARY.items() for suffix in (letter, f"{letter}b", f"{letter}ib") if suffix
}
"""HBase documents sizes in MB and means MiB, so every prefix is taken as binary, as HBase takes it."""
MILLISECONDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("ms", "msec", "millis"), 1),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), 1_000),
    **dict.fromkeys(("min", "mins", "minutes"), 60_000),
    **dict.fromkeys(("h", "hours"), 3_600_000),
}
UNITS: Final[Mapping[str, tuple[Mapping[str, int], int]]] = {
    "MiB": (BYTES, 2**20),
    "bytes": (BYTES, 1),
    "ms": (MILLISECONDS, 1),
    "s": (MILLISECONDS, 1_000),
}
"""The suffixes that a unit of a property can be converted from, and the size of that unit."""
SWITCHES: Final = {"yes": "true", "on": "true", "enabled": "true", "no": "false", "off": "false", "disabled": "false"}


def right_value(values: Values, text: str) -> str | None:
    """Return the value that a refused text certainly means; None where that is a decision, or there is no value."""
    value = _certain(values, text.strip())
    return value if value is not None and value != text and values.refusal(value) is None else None


def _certain(values: Values, text: str) -> str | None:
    if isinstance(values, ListOf):
        parts = [_member(values.member, part.strip()) for part in text.split(",")]
        return None if None in parts else ",".join(part for part in parts if part is not None)
    if isinstance(values, Switch):
        return SWITCHES.get(text.lower())
    amount = AMOUNT.fullmatch(text)
    if amount is None or not isinstance(values, Whole | Decimal):
        return None
    digits, suffix = amount[1], amount[2]
    if re.search("[,_]", digits) and not GROUPS_OF_THREE.fullmatch(digits):
        return None
    number = float(re.sub("[,_]", "", digits))
    if suffix == "%":
        return f"{number / 100:g}" if isinstance(values, Decimal) and values.most <= 1 else None
    if not suffix:
        return f"{number:.0f}" if number == int(number) else None
    suffixes, unit = UNITS.get(values.unit, ({}, 1))
    if suffix.lower() not in suffixes:
        return None
    return f"{int(number * suffixes[suffix.lower()] / unit)}"


def _member(values: Values, part: str) -> str | None:
    return part if values.refusal(part) is None else _certain(values, part)


class ValueKind(Struct, frozen=True):
    """A kind of value by its name, the form that Hadoop's Configuration accepts, and what another value does."""

    name: str
    form: re.Pattern[str]
    consequence: Consequence


SWITCH: Final = ValueKind("true or false", re.compile("true|false", re.IGNORECASE), Consequence.IGNORED)
WHOLE: Final = ValueKind("a whole number", re.compile(r"[+-]?(\d+|0[xX][0-9a-fA-F]+)"), Consequence.WILL_NOT_START)
NUMBER: Final = ValueKind(
    "a number", re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?"), Consequence.WILL_NOT_START
)


def default_kind(default: str | None) -> ValueKind | None:
    """Return the kind of a default; None where it is a text, or unknown."""
    if default is None:
        return None
    return next((kind for kind in (SWITCH, WHOLE, NUMBER) if kind.form.fullmatch(default.strip())), None)
