"""The changes that bring a running cluster to today's plan, group by group, in the order of their application."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from changes.change import OF_THE_CLUSTER, Change, by_reconfiguration
from changes.cost import ImpactCost, impact_cost
from changes.planned_cluster import PlannedCluster
from configurations.launch import Launch
from configurations.properties.property import Applied
from configurations.properties.values import number
from emr.classification import Classification, Classifications, flattened, of_settings
from environments.environment import Environment
from environments.record_files import check_record
from facts.prices import price_table
from operations.aws import Aws
from operations.plan_drift import RunningCluster, read_running_cluster

# judgement: a plan's figure that moves less with the price list or the workload is not worth a restart of every server.
SMALL_FRACTION: Final = 0.05


class GroupChange(Struct, frozen=True, kw_only=True):
    """One request to EMR for one group: `count` nodes, or these `settings` in place of all that it has."""

    role: str
    title: str
    count: int | None = None
    settings: tuple[Classification, ...] = ()


class Tuning(Struct, frozen=True, kw_only=True):
    """The `group_changes` in their order; `small` changes and those that need a `new` cluster are not applied."""

    running: RunningCluster
    changes: tuple[Change, ...]
    small: tuple[Change, ...]
    new: tuple[Change, ...]
    group_changes: tuple[GroupChange, ...]
    cost: ImpactCost


def tuning_of(aws: Aws, cluster: PlannedCluster, *, everything: bool = False) -> Tuning:
    """Return the tuning of the cluster that runs.

    Raises Refused where its launch record is missing or belongs to another cluster: a plan for other nodes would set a
    cache that does not fit. Raises OperationFailed where nothing runs.
    """
    launch = cluster.launch
    running = read_running_cluster(aws, launch)
    check_record(launch.environment, cluster.name, cluster.record, running.cluster.id)
    return tuning(running, launch, aws.account, everything=everything)


def tuning(running: RunningCluster, launch: Launch, account: str, *, everything: bool = False) -> Tuning:
    """Return the tuning with its cost; `everything` includes changes too small to be worth a restart."""
    pending = [by_reconfiguration(change) for change in running.changes(launch)]
    new = tuple(change for change in pending if change.applied is Applied.NEW_CLUSTER)
    rest = [change for change in pending if change.applied is not Applied.NEW_CLUSTER]
    small = () if everything else tuple(small_changes(rest))
    wanted = tuple(change for change in rest if change not in small)
    return Tuning(
        running=running,
        changes=wanted,
        small=small,
        new=new,
        group_changes=tuple(group_changes(running, _planned(launch, account), wanted, (*new, *small))),
        cost=impact_cost(wanted, running.subject, launch.plan, price_table(launch.environment.region)),
    )


def small_changes(changes: Iterable[Change]) -> Iterator[Change]:
    """Yield the changes by a few percent, unless another change restarts the same daemons anyway."""
    little = [change for change in changes if _is_small(change)]
    large = [change for change in changes if change not in little]
    for change in little:
        if not any(other.restarts == change.restarts and set(change.groups) <= set(other.groups) for other in large):
            yield change


def _is_small(change: Change) -> bool:
    if change.overridden or change.classification == OF_THE_CLUSTER or not change.restarts:
        return False
    before, after = (number(value) if value is not None else None for value in (change.before, change.after))
    return before is not None and after is not None and abs(after - before) <= SMALL_FRACTION * abs(before)


class PlannedGroups(Struct, frozen=True, kw_only=True):
    """The number of core nodes as planned, and the planned settings of each group by role, with the account."""

    core_count: int
    settings: Mapping[str, Mapping[tuple[str, str], str]]


def _planned(launch: Launch, account: str) -> PlannedGroups:
    return planned_groups(launch.settings, launch.plan.core.count, launch.environment, account)


def planned_groups(settings: Classifications, core_count: int, environment: Environment, account: str) -> PlannedGroups:
    """Return the groups that a launch plans, with the account filled in."""
    levels = {"core": settings.core, "primary": settings.primary}
    return PlannedGroups(
        core_count=core_count,
        settings={
            role: {(path, key): environment.in_account(value, account) for path, key, value in flattened(level)}
            for role, level in levels.items()
        },
    )


def group_changes(
    running: RunningCluster, planned: PlannedGroups, wanted: Iterable[Change], skipped: Iterable[Change]
) -> Iterator[GroupChange]:
    """Yield the requests: new nodes first, removals last, because a restarting master waits for the stated number."""
    have, want = running.cluster.groups["core"].count, planned.core_count
    wanted = tuple(wanted)
    resized = any(change.key == "InstanceCount" and "core" in change.groups for change in wanted)
    if resized and want > have:
        yield GroupChange(role="core", title=f"core group: {have} -> {want} nodes", count=want)
    for role in ("core", "primary"):
        if any(role in change.groups and change.classification != OF_THE_CLUSTER for change in wanted):
            settings = _settings(running, planned.settings[role], role, skipped)
            yield GroupChange(role=role, title=f"{role} group: apply today's settings", settings=settings)
    if resized and want < have:
        yield GroupChange(role="core", title=f"core group: {have} -> {want} nodes", count=want)


def _settings(
    running: RunningCluster, planned: Mapping[tuple[str, str], str], role: str, skipped: Iterable[Change]
) -> tuple[Classification, ...]:
    """Return the planned settings of the group; a setting that is not to change keeps its present value."""
    values = dict(planned)
    has = {(path, key): value for path, key, value in flattened(running.cluster.groups[role].settings)}
    for change in skipped:
        if role in change.groups and change.classification != OF_THE_CLUSTER:
            at = (change.classification, change.key)
            values.pop(at, None)
            if at in has:
                values[at] = has[at]
    return of_settings(values)
