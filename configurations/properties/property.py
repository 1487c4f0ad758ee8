"""A property: where it is set, which values are valid, why it is set, and how a change is applied."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from configurations.properties.values import Values
from emr.classification import ClassificationPath
from sizing.release import Release, Version


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


class Property(Struct, frozen=True, kw_only=True):
    """One property that a template renders, or that warmbase knows and leaves at its default.

    `figure` is the path of the plan's figure that it states, empty where it states none, and `conversion` says how.
    `needed_by` names what depends on a value that states no figure: EMR has defaults of its own, so such a value is
    rendered even where HBase's default would do.
    `reason` says why it is set, or what it does where it is left alone. `hbase`, `hadoop` and `emr` are the versions
    that have it; from HBase `live_from` on, a change needs no restart. A change of a property with `holds_cache`
    empties the cache.
    """

    classification: ClassificationPath
    key: str
    groups: frozenset[PropertyScope]
    values: Values
    applied: Applied
    reason: str
    source: str
    figure: str = ""
    needed_by: str = ""
    conversion: str = "as it is"
    hbase: Span = ANY
    hadoop: Span = ANY
    emr: Span = ANY
    live_from: Version | None = None
    holds_cache: bool = False

    @property
    def is_identity(self) -> bool:
        """Return whether the property says where the data is, which only a launch decides."""
        return PropertyScope.CLUSTER in self.groups

    @property
    def unit(self) -> str:
        """Return the unit of the value as written."""
        return self.values.unit

    def exists_in(self, release: Release) -> bool:
        """Return whether the software of that release reads it."""
        return self.hbase.holds(release.hbase) and self.hadoop.holds(release.hadoop) and self.emr.holds(release.emr)

    def applied_in(self, release: Release) -> Applied:
        """Return how a change reaches a cluster of that release."""
        if self.live_from is not None and release.hbase >= self.live_from:
            return Applied.LIVE
        return self.applied
