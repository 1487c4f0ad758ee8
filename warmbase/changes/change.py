"""The differences between a cluster as it was rendered and as it is planned, and how each would be applied.

Values of a property that mean the same make no difference: blanks, spelling, and the order of a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.engine_facet import changes_of
from warmbase.configurations.properties import CATALOGUE, HBaseProperty
from warmbase.configurations.properties.property import (
    Applied,
    Decimal,
    ListOf,
    Switch,
    Values,
    Whole,
    number,
)
from warmbase.emr.cluster_spec import ClusterSpec, InstanceGroup, counted
from warmbase.engines.engine import ENGINES
from warmbase.environments.environment import ACCOUNT_PSEUDO_PARAMETER
from warmbase.ground.release import Release
from warmbase.ground.secret import redacted

RESTARTS: Final = {
    "hbase": "HBase",
    "hbase-site": "HBase",
    "hbase-env": "HBase",
    "hbase-log4j2": "HBase",
    "hbase-metrics": "HBase",
    "emrfs-site": "HBase and Hadoop",
    "core-site": "Hadoop, and HBase by hand",
    "hdfs-site": "HDFS",
    "yarn-site": "YARN",
    "emr-metrics": "the CloudWatch agent",
}
"""EMR Release Guide, emr-7140-release: what a reconfiguration restarts. HBase reads core-site and is not restarted."""
EVERY_ROLE: Final = ("primary", "core")
OF_THE_CLUSTER: Final = "of the cluster"


class Change(Struct, frozen=True, kw_only=True):
    """One difference. `before` or `after` is None where nothing is stated; `groups` are primary, core or both.

    `restarts` names the daemons, empty where none is; `empties_cache` is true where the cache does not survive it.
    """

    groups: tuple[str, ...]
    classification: str
    key: str
    before: str | None
    after: str | None
    applied: Applied
    restarts: str
    empties_cache: bool
    why: str
    overridden: bool = False

    @property
    def restarts_region_servers(self) -> bool:
        """Return whether the change restarts every RegionServer."""
        return self.applied is Applied.ROLLING_RESTART and "core" in self.groups and "HBase" in self.restarts


def changes(
    before: ClusterSpec, after: ClusterSpec, roles: Iterable[str], release: Release, further: Iterable[Change] = ()
) -> tuple[Change, ...]:
    """Return every difference for nodes of those roles, the most costly first; one entry where groups agree.

    `further` are differences that no ClusterSpec states.
    """
    differences = [*_cluster_changes(before, after), *further]
    for role in roles:
        differences += _setting_changes(before, after, role, release)
        differences += _node_changes(before.group(role), after.group(role), role)
    groups_of: dict[Change, tuple[str, ...]] = {}
    for change in differences:
        without_groups = replace(change, groups=())
        groups_of[without_groups] = (*groups_of.get(without_groups, ()), *change.groups)
    together = [replace(change, groups=groups) for change, groups in groups_of.items()]
    return tuple(sorted(together, key=lambda change: (-list(Applied).index(change.applied), change.key)))


def _setting_changes(before: ClusterSpec, after: ClusterSpec, role: str, release: Release) -> Iterator[Change]:
    was, will = before.effective(role), after.effective(role)
    for path, key in dict.fromkeys((*was, *will)):
        old, new, catalogued = was.get((path, key)), will.get((path, key)), CATALOGUE.get((path, key))
        same = old and new and is_equivalent(catalogued, old.value, new.value)
        if same or not before.shows(path.partition("/")[0]):
            continue
        default = Applied.LIVE if path.startswith("emr-metrics") else Applied.ROLLING_RESTART
        applied = catalogued.applied_in(release) if catalogued else default
        reasons = (changes_of(engine).reason(path, key) for engine in ENGINES.values())
        yield Change(
            groups=(role,),
            classification=path,
            key=key,
            before=redacted(key, old.value) if old else None,
            after=redacted(key, new.value) if new else None,
            applied=applied,
            restarts=(_restarts(path) or "the daemons that read it") if applied is Applied.ROLLING_RESTART else "",
            empties_cache=bool(catalogued and catalogued.holds_cache and role == "core")
            or applied is Applied.NEW_CLUSTER,
            why=catalogued.reason
            if catalogued
            else next(filter(None, reasons), "not in our catalogue: assumed to need a restart"),
            overridden=new.overridden if new else False,
        )


def _restarts(path: str) -> str:
    """Return the daemons that a reconfiguration of a classification restarts; empty if nobody knows."""
    name = path.partition("/")[0]
    return RESTARTS.get(name) or next(
        filter(None, (changes_of(engine).restarts(name) for engine in ENGINES.values())), ""
    )


def _node_changes(before: InstanceGroup | None, after: InstanceGroup | None, role: str) -> Iterator[Change]:
    """Yield the changes of an instance group, as far as both sides state it."""
    if before is None or after is None:
        return
    groups = (role,)
    if before.instance_type and before.instance_type != after.instance_type:
        why = "the instance type of a group is fixed at launch"
        yield cluster_change(groups, "InstanceType", before.instance_type, after.instance_type, why)
    was, will = (
        ", ".join(
            f"{volume.count} x {volume.size_gib} GiB {volume.type}, {volume.iops} IOPS, {volume.throughput_mib_s} MiB/s"
            for volume in counted(group.volumes)
        )
        for group in (before, after)
    )
    if before.volumes and was != will:
        why = "the volumes of a group are fixed at launch"
        yield cluster_change(groups, "EbsConfiguration", was, will, why)
    if before.count is not None and before.count != after.count:
        counts = str(before.count), str(after.count)
        if role == "primary":
            why = "the number of primaries is fixed at launch"
            yield cluster_change(groups, "InstanceCount", *counts, why)
        else:
            why = (
                "new nodes start with an empty cache; removed nodes lose theirs: move their regions off first. Then "
                "update the primaries, which wait for this many servers"
            )
            yield cluster_change(("core",), "InstanceCount", *counts, why, Applied.LIVE)


def _cluster_changes(before: ClusterSpec, after: ClusterSpec) -> Iterator[Change]:
    if before.release_label and before.release_label != after.release_label:
        why = "the release is fixed at launch"
        yield cluster_change(EVERY_ROLE, "ReleaseLabel", before.release_label, after.release_label, why)
    was, will = ", ".join(sorted(before.applications)), ", ".join(sorted(after.applications))
    if was and was != will:
        yield cluster_change(EVERY_ROLE, "Applications", was, will, "the applications are fixed at launch")
    if before.fleets is not None:
        why = "the choice of fleets or groups is fixed at launch"
        yield cluster_change(EVERY_ROLE, "InstanceFleets", "fleets", "instance groups", why)
    if before.managed_scaling is not None:
        why = "EMR would add and remove RegionServers by the needs of YARN"
        yield cluster_change(EVERY_ROLE, "ManagedScalingPolicy", "stated", None, why, Applied.LIVE)
    if before.group("task") is not None:
        why = "move the regions off the task nodes, then resize the group to 0"
        yield cluster_change(("task",), "TaskInstanceGroups", "stated", None, why, Applied.LIVE)


def cluster_change(  # noqa: PLR0913, PLR0917 - the columns of a table of changes
    groups: tuple[str, ...],
    key: str,
    before: str,
    after: str | None,
    why: str,
    applied: Applied = Applied.NEW_CLUSTER,
) -> Change:
    """Return a change of those groups that changes no property; most such changes need a new cluster."""
    return Change(
        groups=groups,
        classification=OF_THE_CLUSTER,
        key=key,
        before=before,
        after=after,
        applied=applied,
        restarts="",
        empties_cache=applied is Applied.NEW_CLUSTER,
        why=why,
    )


def by_reconfiguration(change: Change) -> Change:
    """Return the change as EMR applies it: EMR restarts HBase even for what HBase could take while it runs."""
    restarts = _restarts(change.classification)
    if change.applied is not Applied.LIVE or "HBase" not in restarts:
        return change
    return replace(change, applied=Applied.ROLLING_RESTART, restarts=restarts)


def is_equivalent(catalogued: HBaseProperty | None, before: str, after: str) -> bool:
    """Return whether both values mean the same.

    The order of a list does not matter. That of `files:` does, and so does that of JVM options: the last one wins.
    """
    values = catalogued.values if catalogued else None
    if _normal(values, before) == _normal(values, after):
        return True
    pattern = re.escape(after).replace(re.escape(ACCOUNT_PSEUDO_PARAMETER), r"\d{12}")
    return ACCOUNT_PSEUDO_PARAMETER in after and re.fullmatch(pattern, before.strip()) is not None


def _normal(values: Values | None, text: str) -> object:
    if isinstance(values, ListOf):
        return sorted(str(_normal(values.member, part)) for part in text.split(","))
    if isinstance(values, (Whole, Decimal)):
        value = number(text)
        return text.strip() if value is None else value
    if isinstance(values, Switch):
        return text.strip().lower()
    return " ".join(text.split())
