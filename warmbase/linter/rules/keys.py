"""Keys and values: spelled correctly, read where they are, accepted by the property, stated once, and filled in.

`right_value` is the one right way to write a value that a property refuses, where there is one. `default_kind` is the
kind of value that a key takes, as far as HBase's own default shows it: a whole number, a number, or a switch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from warmbase.configurations.properties import CATALOGUE, HBaseProperty
from warmbase.configurations.properties.property import Decimal, ListOf, Span, Switch, Values, Whole
from warmbase.emr.cluster_spec import BLANK_TO_FILL, Setting
from warmbase.facts.keys import current_key, emr_keys, hadoop_keys, hbase_keys, key_prefixes
from warmbase.facts.keys.nearest import near_misses
from warmbase.linter.finding import Consequence, Edit, Severity, new_key, new_value
from warmbase.linter.node import SITE, LintedNode
from warmbase.linter.rule import BOOTED, Rule, Violation, emr_rule

BOTH: Final = ("primary", "core")
OF_HBASE: Final = ("hbase.", "hfile.")
OF_HADOOP: Final = ("dfs.", "fs.", "hadoop.", "io.", "ipc.", "yarn.")
SCHEME: Final = re.compile(r"fs\.(AbstractFileSystem\.)?[A-Za-z][\w+-]*\.impl(\.disable\.cache)?")
"""Hadoop looks up the class of a file system by its scheme, which may be any word."""
SITES: Final = ("hbase-site", "core-site", "hdfs-site", "yarn-site", "emrfs-site", "hbase")
"""Classifications whose keys the tables list completely; others, such as hbase-env, hold names of any kind."""
# Keys that were renamed, dropped or never merged, with what to use instead; from the sources of HBase and Hadoop.
REPLACED: Final = {
    "hbase.offheapcache.minblocksize": "hbase.blockcache.minblocksize",
    "hbase.bucketcache.percentage.in.combinedcache": "hfile.block.cache.size for L1, and hbase.bucketcache.size",
    "hfile.min.blocksize.size": "BLOCKSIZE of the column family",
    "hbase.blockcache.policy": "hfile.block.cache.policy",
    "dfs.client.retry.window.multiplier": "dfs.client.retry.window.base; HDFS-16155 was never merged",
    "dfs.client.retry.window.max": "dfs.client.retry.window.base; HDFS-16155 was never merged",
    "fs.s3.threadpool.size": "fs.s3a.threads.max with S3A (from emr-7.10), fs.s3.threadpool.maxSize with EMRFS",
    "hbase.rs.prefetchheapusage": "nothing: HBase 2.6 does not limit prefetch by heap",
}
NAMED_ONLY: Final = frozenset({"hbase.offheapcache.minblocksize", "hbase.bucketcache.percentage.in.combinedcache"})
"""Replaced keys that the jars still name but read only to log a warning."""
READ_BY_HBASE: Final = (SITE, "core-site")
NOT_HBASE: Final = ("yarn-site", "hdfs-site", "emrfs-site", "hbase")
NOT_YARN: Final = (SITE, "hdfs-site", "emrfs-site", "hbase")
OF_WAL: Final = "emr.wal."
IGNORED: Final = "HBase and Hadoop silently ignore keys that they do not know"
AS_WB101: Final = "HBase ignores the key, as the boot for WB101 shows"


@cache
def _catalogued() -> frozenset[str]:
    return frozenset({*hbase_keys(), *hadoop_keys(), *emr_keys(), *(key for _, key in CATALOGUE)})


def _site_settings(node: LintedNode) -> Iterator[Setting]:
    return (setting for (path, _), setting in node.settings.items() if path in SITES)


def _read_by(node: LintedNode, key: str) -> bool:
    """Return whether this release reads the key; where the release is unknown, whether any release does."""
    if key in NAMED_ONLY:
        return False
    if not (node.release and node.exact):
        return key in _catalogued()
    hbase, hadoop, emr = hbase_keys().get(key), hadoop_keys().get(key), emr_keys().get(key)
    if hbase and hbase.exists_in(node.release.hbase):
        return True
    if hadoop and hadoop.exists_in(node.release.hadoop):
        return True
    if emr and emr.exists_in(node.release.emr):
        return True
    entries = [entry for (_, name), entry in CATALOGUE.items() if name == key]
    return not (hbase or hadoop or emr) and any(entry.exists_in(node.release) for entry in entries)


def _is_catalogued(key: str) -> bool:
    """Return whether a key is known, or contains a free name, such as that of a user or of a file system."""
    return (
        key in _catalogued()
        or key in REPLACED
        or SCHEME.fullmatch(key) is not None
        or any(key.startswith(prefix) and key != prefix for prefix in key_prefixes())
    )


MOST_SEARCHED: Final = 500  # judgement: a search takes 5 ms, and nobody misspells so many keys


def _unknown_settings(node: LintedNode) -> Iterator[tuple[Setting, tuple[str, ...]]]:
    """Yield the settings with unknown keys, each with the keys that it may be a misspelling of, up to 500."""
    unknown = (setting for setting in _site_settings(node) if not _is_catalogued(setting.key))
    for number, setting in enumerate(unknown):
        yield setting, _near(setting.key) if number < MOST_SEARCHED else ()


@lru_cache(MOST_SEARCHED)
def _near(key: str) -> tuple[str, ...]:
    return near_misses(key, _catalogued())


@Rule(
    id="WB101",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="unknown key, close to a real one",
    because=IGNORED,
    fix="write the key that exists",
    source="keys extracted from the release jars",
    proof=BOOTED,
    roles=BOTH,
    of_hbase=False,
    of_hbase_1=True,
)
def _near_miss(node: LintedNode) -> Iterator[Violation]:
    """Yield misspelt keys; for HBase 1 only keys of HBase, because the tables have no Hadoop 2."""
    for setting, near in _unknown_settings(node):
        if near and (not node.has_hbase_1 or setting.key.startswith(OF_HBASE)):
            yield Violation(
                setting,
                f"unknown key; did you mean {near[0]}?",
                fix=f"write {' or '.join(near[:3])}",
                edit=_renamed(node, setting, near[0]) if len(near) == 1 else None,
            )


def _renamed(node: LintedNode, setting: Setting, key: str) -> Edit | None:
    """Return the edit that corrects a key; None where the file also has the right one."""
    return None if (setting.classification, key) in node.settings else new_key(key)


@Rule(
    id="WB102",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="key of another version",
    because=IGNORED,
    fix="remove the key, or use a release that has it",
    source="keys extracted from the release jars",
    proof=AS_WB101,
    roles=BOTH,
    of_hbase=False,
)
def _of_another_version(node: LintedNode) -> Iterator[Violation]:
    for setting in _site_settings(node):
        key = setting.key
        if key in REPLACED and not _read_by(node, key):
            yield Violation(setting, f"this release does not read {key}", fix=f"use {REPLACED[key]}")
        elif key in _catalogued() and not _read_by(node, key):
            yield Violation(
                setting,
                f"{node.release.label if node.release else 'this release'} does not read {key}: it is a key "
                f"{_versions(key)}",
            )


def _versions(key: str) -> str:
    hbase, hadoop, emr = hbase_keys().get(key), hadoop_keys().get(key), emr_keys().get(key)
    if hbase and not key.startswith(OF_HADOOP):
        return f"of HBase {', '.join(hbase.versions)}"
    if hadoop:
        return f"of Hadoop {', '.join(hadoop.versions)}"
    if emr:
        span = Span(since=emr.since, until=None)
        return f"of EMR {span}" if emr.until is None else f"of EMR up to {'.'.join(map(str, emr.until))}"
    return "of an older Hadoop" if key.startswith(OF_HADOOP) else "of another version"


@Rule(
    id="WB103",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="unknown key",
    because="HBase and Hadoop silently ignore keys that they do not know; a coprocessor or Phoenix may read this one",
    fix="check that the software that it is meant for reads it",
    source="keys extracted from the release jars",
    proof=AS_WB101,
    roles=BOTH,
    of_hbase=False,
)
def _unknown(node: LintedNode) -> Iterator[Violation]:
    for setting, near in _unknown_settings(node):
        if not near:
            yield Violation(setting, f"unknown key: HBase, Hadoop and EMR do not read {setting.key}")


@Rule(
    id="WB105",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="key in a classification from which nothing reads it",
    because="HBase reads hbase-site and core-site, EMR reads its own keys from hbase, and YARN reads yarn-site",
    fix="move the key to the classification that is read",
    source="HBase 2.6.2 HBaseConfiguration, Hadoop 3.4.1 YarnConfiguration; EMR Release Guide, emr-hbase-s3",
    proof=AS_WB101,
    roles=BOTH,
    of_hbase=False,
    of_hbase_1=True,
)
def _nobody_reads_it_there(node: LintedNode) -> Iterator[Violation]:
    """Yield misplaced keys, except those that EMR itself writes into the site file of a node."""
    for setting in node.settings.values():
        path, key = setting.classification, setting.key
        if (path, key) in CATALOGUE or ((emr := emr_keys().get(key)) and path in emr.classifications):
            continue
        if _is_for_emr(key) and path != "hbase" and node.subject.only is None:
            yield Violation(setting, f"EMR reads {key} from hbase, not from {path}", fix="set it in hbase")
        elif key.startswith(OF_WAL) and path not in READ_BY_HBASE:
            yield Violation(setting, f"HBase does not read {key} from {path}", fix=f"set it in {SITE}")
        elif key.startswith(OF_HBASE) and path in NOT_HBASE and not _is_for_emr(key):
            right = next((path for path, name in CATALOGUE if name == key), SITE)
            yield Violation(setting, f"HBase does not read {key} from {path}", fix=f"set it in {right}")
        elif key.startswith("yarn.") and path in NOT_YARN:
            yield Violation(setting, f"YARN does not read {key} from {path}", fix="set it in yarn-site")


def _is_for_emr(key: str) -> bool:
    """Return whether EMR itself reads the key and derives settings of HBase from it."""
    return key.startswith("hbase.emr.") or key == "hbase.regionserver.fixed.heap.enabled"


@Rule(
    id="WB111",
    severity=Severity.INFO,
    title="deprecated name of a key",
    because="the old name still works, but where both names are set it is not obvious which one wins",
    fix="write the new name",
    source="Hadoop 3.4.2 Configuration.dumpDeprecatedKeys, HBase 2.6.4 MemorySizeUtil and CompactionConfiguration",
    proof="the old key still works",
    roles=BOTH,
    of_hbase=False,
)
def _old_name(node: LintedNode) -> Iterator[Violation]:
    for setting in _site_settings(node):
        current = current_key(setting.key)
        if current != setting.key and setting.key not in REPLACED:
            yield Violation(
                setting,
                f"{setting.key} is the old name of {current}",
                fix=f"write {current}",
                edit=_renamed(node, setting, current),
            )


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
