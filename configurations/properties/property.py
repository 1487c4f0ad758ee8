"""A property: its classification, value and reason, the values that are valid, its source, and how a change is applied.

A kind of values (`Whole`, `Switch`, `OneOf` …) checks the text of a property as the node reads it. Each source that
several rules cite is named here once. `RenderingContext` is the HBase cluster for which a property is rendered: all
that the property's value, and its condition, may depend on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from warmbase.emr.cluster_spec import Classification, ClassificationPath, of_settings
from warmbase.environments.environment import HBaseSecurity
from warmbase.ground.release import Release, Version
from warmbase.sizing.plan import Plan


class Applied(StrEnum):
    """How a change of a property reaches a running cluster."""

    LIVE = "live"
    ROLLING_RESTART = "rolling restart"
    NEW_CLUSTER = "new cluster"


class PropertyScope(StrEnum):
    """The level at which a property is set: all nodes at launch, or an instance group, where it can be tuned later."""

    CLUSTER = "cluster"
    PRIMARY = "primary"
    CORE = "core"


CLUSTER: Final = frozenset({PropertyScope.CLUSTER})
PRIMARY: Final = frozenset({PropertyScope.PRIMARY})
CORE: Final = frozenset({PropertyScope.CORE})
BOTH: Final = PRIMARY | CORE
EVERYWHERE: Final = CLUSTER | BOTH


class Span(Struct, frozen=True, kw_only=True):
    """The versions of a software that have a property, from `since` on and before `until`."""

    since: Version | None = None
    until: Version | None = None

    def holds(self, version: Version) -> bool:
        """Return whether that version has it."""
        return (self.since is None or version >= self.since) and (self.until is None or version < self.until)

    def __str__(self) -> str:
        since = f"{_dotted(self.since)} on" if self.since else ""
        until = f"before {_dotted(self.until)}" if self.until else ""
        return ", ".join(filter(None, (since, until))) or "any"


ANY: Final = Span()


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


class HasFigures(Protocol):
    """The plan of a cluster, or a context that has one: a property is rendered for it."""

    def figure(self, path: str) -> object:
        """Return the figure of the plan at a path. Raises LookupError where the plan has none."""


Context = TypeVar("Context", bound=HasFigures)
"""The type of what the properties of an engine are rendered for."""


def always(_: object) -> bool:
    """The condition of a property that every cluster has."""
    return True


class Property(Struct, Generic[Context], frozen=True):
    """One property that warmbase renders, or that it knows and leaves at its default.

    `value` is the text that is rendered, or the function that computes it; `figure` is the path of the plan's figure
    that the property states, and `conversion` says how. A property with a figure and no value is rendered as that
    figure, and one with neither is left at its default. `when` is the condition under which it is rendered, besides
    the versions that have it.
    `needed_by` names what depends on a value that states no figure: EMR has defaults of its own, so such a value is
    rendered even where HBase's default would do.
    `reason` says why it is set, or what it does where it is left alone. `hbase`, `hadoop` and `emr` are the versions
    that have it; from HBase `live_from` on, a change needs no restart. A change of a property with `holds_cache`
    empties the cache.
    """

    key: str
    values: Values
    reason: str
    classification: ClassificationPath
    groups: frozenset[PropertyScope]
    source: str
    applied: Applied = Applied.ROLLING_RESTART
    value: str | Callable[[Context], str] = ""
    when: Callable[[Context], bool] = always
    figure: str = ""
    needed_by: str = ""
    conversion: str = "as it is"
    hbase: Span = ANY
    hadoop: Span = ANY
    emr: Span = ANY
    live_from: Version | None = None
    holds_cache: bool = False

    @property
    def is_rendered(self) -> bool:
        """Return whether warmbase renders it for some cluster; others keep the software's default."""
        return bool(self.value or self.figure)

    def text(self, context: Context) -> str:
        """Return the value as it is rendered."""
        if callable(self.value):
            return self.value(context)
        if self.value or not self.figure:
            return self.value
        figure = context.figure(self.figure)
        return ",".join(map(str, figure)) if isinstance(figure, tuple) else str(figure)

    def json_fields(self) -> dict[str, object]:
        """Return what JSON says of the property: all but the functions, which only a plan gives a meaning."""
        first = ("classification", "key", "groups", "values", "applied", "reason", "source")
        fields = {name: field for name, field in asdict(self).items() if name not in {"value", "when"}}
        return dict.fromkeys(first) | fields

    @property
    def is_identity(self) -> bool:
        """Return whether the property says where the data is, which only a launch decides."""
        return PropertyScope.CLUSTER in self.groups

    def exists_in(self, release: Release) -> bool:
        """Return whether the software of that release reads it."""
        return self.hbase.holds(release.hbase) and self.hadoop.holds(release.hadoop) and self.emr.holds(release.emr)

    def applied_in(self, release: Release) -> Applied:
        """Return how a change reaches a cluster of that release."""
        if self.live_from is not None and release.hbase >= self.live_from:
            return Applied.LIVE
        return self.applied


class RenderingError(AssertionError):
    """A value that its property does not allow, which is a fault of warmbase and not of the input."""


def classifications_of_group(
    properties: Iterable[Property[Context]], context: Context, group: PropertyScope, release: Release
) -> tuple[Classification, ...]:
    """Return the properties that this cluster has at that level, in the order given.

    Raises RenderingError for a value that is not valid.
    """
    values = {}
    for entry in properties:
        if group in entry.groups and entry.exists_in(release) and entry.when(context):
            text = entry.text(context)
            if (refusal := entry.values.refusal(text)) is not None:
                raise RenderingError(f"{group}: {entry.classification} {entry.key}: {refusal}")
            values[entry.classification, entry.key] = text
    return of_settings(values)


INT: Final = 2**31 - 1
LONG: Final = 2**63 - 1
"""The largest int and long of Java, the limits of `Configuration.getInt` and `getLong`."""


class Values(Protocol):
    """One kind of value. Its `str()` says what is valid, and follows "must be" in a sentence."""

    @property
    def unit(self) -> str:
        """Return the unit of the value as written; it is empty for names and switches."""

    def refusal(self, text: str) -> str | None:
        """Return why the text is not such a value, None where it is one."""


def number(text: str) -> float | None:
    """Return the number that Hadoop's Configuration reads, None where the text is not one.

    Blanks around it are ignored; separators of thousands are not allowed.
    """
    trimmed = text.strip()
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", trimmed, re.ASCII):
        return None
    return float(trimmed)


def _whole(text: str) -> int | None:
    trimmed = text.strip()
    # Python refuses to read over 4,300 digits, and a float has 309.
    if re.fullmatch(r"[+-]?\d{1,300}", trimmed, re.ASCII):
        return int(trimmed)
    return int(trimmed, 16) if re.fullmatch(r"-?0[xX][0-9a-fA-F]{1,240}", trimmed) else None


def _beyond(value: float, least: float, most: float, unit: str) -> str | None:
    if value < least:
        return f"{_joined(value)} is below {_joined(least)}{unit and f' {unit}'}"
    if value > most:
        return f"{_joined(value)} is above {_joined(most)}{unit and f' {unit}'}"
    return None


def _joined(value: float) -> str:
    return f"{int(value):,}" if math.isfinite(value) and value == int(value) else f"{value:g}"


class Whole(Struct, frozen=True, kw_only=True):
    """A whole number that lies within bounds, both included."""

    unit: str = ""
    least: int = 0
    most: int = INT
    multiple_of: int = 1

    def refusal(self, text: str) -> str | None:
        """Return why Hadoop would raise a NumberFormatException, or the bound that is passed; hexadecimal is valid."""
        value = _whole(text)
        if value is None:
            return f"{text!r} is not a whole number"
        if value % self.multiple_of:
            return f"{text} is not a multiple of {self.multiple_of}"
        return _beyond(value, self.least, self.most, self.unit)

    def __str__(self) -> str:
        multiple = f", a multiple of {self.multiple_of}" if self.multiple_of > 1 else ""
        most = f" to {self.most:,}" if self.most < INT else " or more"
        return f"a whole number, {self.least:,}{most}{multiple}"


class Decimal(Struct, frozen=True, kw_only=True):
    """A number within bounds; `above` is itself outside."""

    unit: str = ""
    least: float = 0.0
    most: float = math.inf
    above: float | None = None

    def refusal(self, text: str) -> str | None:
        """Return why the text is not a number, or the bound that it passes."""
        value = number(text)
        if value is None:
            return f"{text!r} is not a number"
        if self.above is not None and value <= self.above:
            return f"{text} is not above {_joined(self.above)}"
        return _beyond(value, self.least, self.most, self.unit)

    def __str__(self) -> str:
        lower = f"{_joined(self.least)} or more" if self.above is None else f"above {_joined(self.above)}"
        if math.isinf(self.most):
            return f"a number, {lower}"
        return f"a number, {lower.removesuffix(' or more')} to {_joined(self.most)}"


class Switch(Struct, frozen=True, kw_only=True):
    """True or false. Hadoop silently uses the default for any other word."""

    unit: str = ""

    def refusal(self, text: str) -> str | None:
        """Return why the text is neither true nor false."""
        if text.strip().lower() in {"true", "false"}:
            return None
        return f"{text!r} is neither true nor false, and Hadoop silently takes the default"

    def __str__(self) -> str:
        return "true or false"


class OneOf(Struct, frozen=True, kw_only=True):
    """One of a few names; with `others`, the name of any other class is valid too."""

    names: tuple[str, ...]
    unit: str = ""
    others: bool = False
    any_case: bool = False

    def refusal(self, text: str) -> str | None:
        """Return why the text is not one of the names; whether another class exists is not checked."""
        name = text.strip()
        names = {allowed.lower() for allowed in self.names} if self.any_case else set(self.names)
        if (name.lower() if self.any_case else name) in names or (self.others and "." in name):
            return None
        return f"{text!r} is not one of {', '.join(self.names)}"

    def __str__(self) -> str:
        return f"one of {', '.join(self.names)}{', or a class' if self.others else ''}"


class Matching(Struct, frozen=True, kw_only=True):
    """Text that a regular expression matches."""

    form: str
    described: str
    unit: str = ""

    def refusal(self, text: str) -> str | None:
        """Return why the text does not match."""
        return None if re.fullmatch(self.form, text.strip()) else f"{text!r} is not {self.described}"

    def __str__(self) -> str:
        return self.described


class ListOf(Struct, frozen=True, kw_only=True):
    """A list of values that commas separate."""

    member: Values

    @property
    def unit(self) -> str:
        """Return the unit of each member."""
        return self.member.unit

    def refusal(self, text: str) -> str | None:
        """Return why the first invalid member is not valid."""
        if not text.strip():
            return "the list is empty"
        return next((why for part in text.split(",") if (why := self.member.refusal(part.strip()))), None)

    def __str__(self) -> str:
        return f"a list with commas, each {self.member}"


class AnyText(Struct, frozen=True, kw_only=True):
    """Any text that is not empty is valid."""

    described: str = "text"
    unit: str = ""

    def refusal(self, text: str) -> str | None:
        """Return why the text is not valid: it is empty."""
        return None if text.strip() else "it is empty"

    def __str__(self) -> str:
        return self.described


# Kinds of values that many properties have.
SWITCH: Final = Switch()
BYTES: Final = Whole(unit="bytes", least=1, most=LONG)
THREADS: Final = Whole(unit="threads", least=1)
WAIT_MS: Final = Whole(unit="ms", most=LONG)
PERIOD_MS: Final = Whole(unit="ms", least=1, most=LONG)
TIME: Final = Matching(form=r"\d+ *(ms|s|m)?", described="a time such as 500ms")
WHOLE_PATH: Final = Matching(form=r"/.+", described="a whole path")
CLASS_NAMES: Final = ListOf(member=AnyText(described="the name of a class"))

HBASE_262: Final = "HBase 2.6.2 source"
HBASE_264: Final = "HBase 2.6.4 source"
HBASE_CONFIGURATION: Final = "HBase Reference Guide, Dynamic Configuration"
HBASE_GUIDE: Final = "HBase Reference Guide"
HBASE_SECURITY: Final = "HBase Reference Guide, Securing Apache HBase"
HADOOP_341: Final = "Hadoop 3.4.1 source"
EMR_HBASE_S3: Final = "EMR Release Guide, emr-hbase-s3"
EMR_HBASE_CONFIGURE: Final = "EMR Release Guide, emr-hbase-configure"
EMR_WAL: Final = "EMR Release Guide, emr-hbase-wal"
EMR_S3A: Final = "EMR Release Guide, emr-s3a-migrate"
EMR_AGENT: Final = "EMR Release Guide, emr-AmazonCloudWatchAgent"
EMR_ENCRYPTION: Final = "EMR Management Guide, emr-data-encryption-options"
EMR_TASKS: Final = "EMR Release Guide, emr-hadoop-task-config"
EMR_STORAGE: Final = "EMR Management Guide, emr-plan-storage"
EMR_REPLACEMENT: Final = "EMR Management Guide, emr-plan-node-replacement"
BEST_PRACTICES: Final = "Amazon EMR best practices"
EMR_UTILITIES_SECURITY: Final = "Amazon EMR best practices, HBase security on EMR 6.9"
RECIPE: Final = "AWS Big Data Blog, bucket caching on Amazon EMR"
HUBSPOT: Final = "HubSpot, locality healing at scale"
HUBSPOT_TABLES: Final = "HubSpot, reducing downtime of HBase tables"
INTEL: Final = "Intel and Bizosys, read-intensive search on HBase"
HBASE_265: Final = "log of HBase branch-2.6, 2.6.5"
HBASE_266: Final = "log of HBase branch-2.6, 2.6.6"


class RenderingContext(Struct, frozen=True, kw_only=True):
    """One cluster of an environment. `wal_workspace` is empty where EMR does not keep the write-ahead log.

    The questions below are conditions of properties: `when=RenderingContext.is_active`.
    """

    plan: Plan
    release: Release
    role: str
    region: str
    security: HBaseSecurity
    wal_workspace: str

    def figure(self, path: str) -> object:
        """Return the figure of the plan at a path. Raises LookupError where the plan has none."""
        return self.plan.figure(path)

    def is_active(self) -> bool:
        """Return whether the cluster writes; the others are replicas."""
        return self.role == "active"

    def has_root_in_s3(self) -> bool:
        """Return whether the data is in a bucket."""
        return self.plan.mode.keeps_data_in_s3

    def has_data_in_hdfs(self) -> bool:
        """Return whether the data is on the disks of the nodes."""
        return not self.plan.mode.keeps_data_in_s3

    def has_bucket_cache(self) -> bool:
        """Return whether a BucketCache on the disks of the nodes serves the reads."""
        return self.plan.mode.has_bucket_cache

    def has_s3a(self) -> bool:
        """Return whether S3A is the S3 client of the release; the other one is EMRFS."""
        return self.release.s3_connector == "s3a"

    def has_root_on_s3a(self) -> bool:
        """Return whether HBase reads and writes its data through S3A."""
        return self.has_root_in_s3() and self.has_s3a()

    def has_emr_wal(self) -> bool:
        """Return whether the cluster writes its log to EMR WAL."""
        return bool(self.wal_workspace)

    def has_kerberos(self) -> bool:
        """Return whether a KDC authenticates the clients."""
        return self.security.kerberos is not None


HBaseProperty = Property[RenderingContext]
"""A property of a cluster with HBase."""
hbase_site = partial(HBaseProperty, classification="hbase-site", groups=CORE, source=HBASE_262)
"""Most properties are those of a RegionServer, and are read when it starts."""
