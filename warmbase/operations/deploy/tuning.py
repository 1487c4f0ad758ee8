"""The tuning of a running cluster: today's settings and counts, applied group by group.

`tuning` finds the changes and their order; `reconfiguration` applies them, and restores settings that EMR refuses. EMR
restarts the daemons of a group in parts, and replaces its whole list of settings (OVERWRITE), including those that
others had set. Source: EMR Release Guide, emr-configure-apps-running-cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from warmbase.changes.change import OF_THE_CLUSTER, Change, by_reconfiguration
from warmbase.changes.cost import ImpactCost, impact_cost
from warmbase.changes.engine_facet import EngineLaunch
from warmbase.changes.planned_cluster import PlannedCluster
from warmbase.configurations.properties.property import Applied, number
from warmbase.emr.api import write_classifications
from warmbase.emr.cluster_spec import Classification, flattened, of_settings
from warmbase.environments.launch_record import check_record
from warmbase.facts.prices import price_table
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.ground.units import format_percent
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.progress import Say, Stage, turns
from warmbase.operations.cluster.caches import ServerCache, caches
from warmbase.operations.cluster.description import DescribedGroup, described_groups
from warmbase.operations.cluster.drift import RunningCluster, read_running_cluster, same_settings

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
    pending = [by_reconfiguration(change) for change in running.changes(launch)]

    def cost(wanted: tuple[Change, ...]) -> ImpactCost:
        return impact_cost(wanted, running.subject, launch.plan, price_table(launch.environment.region))

    return tuning(aws, running, launch, pending, cost, everything=everything)


def tuning(  # noqa: PLR0913 - a running cluster and what is planned of it
    aws: Aws,
    running: RunningCluster,
    launch: EngineLaunch,
    pending: Sequence[Change],
    cost: Callable[[tuple[Change, ...]], ImpactCost],
    *,
    everything: bool,
) -> Tuning:
    """Return the tuning for the pending changes; `everything` includes those too small to be worth a restart."""
    new = tuple(change for change in pending if change.applied is Applied.NEW_CLUSTER)
    rest = [change for change in pending if change.applied is not Applied.NEW_CLUSTER]
    little = [] if everything else [change for change in rest if _is_small(change)]
    large = [change for change in rest if change not in little]
    # A small change is applied where another change restarts the same daemons anyway.
    small = tuple(
        change
        for change in little
        if not any(other.restarts == change.restarts and set(change.groups) <= set(other.groups) for other in large)
    )
    wanted = tuple(change for change in rest if change not in small)
    return Tuning(
        running=running,
        changes=wanted,
        small=small,
        new=new,
        group_changes=tuple(_group_changes(aws, running, launch, wanted, (*new, *small))),
        cost=cost(wanted),
    )


def _is_small(change: Change) -> bool:
    if change.overridden or change.classification == OF_THE_CLUSTER or not change.restarts:
        return False
    before, after = (number(value) if value is not None else None for value in (change.before, change.after))
    return before is not None and after is not None and abs(after - before) <= SMALL_FRACTION * abs(before)


def _group_changes(
    aws: Aws, running: RunningCluster, launch: EngineLaunch, wanted: Iterable[Change], skipped: Iterable[Change]
) -> Iterator[GroupChange]:
    """Yield the requests: new nodes first, removals last, because a restarting master waits for the stated number."""
    have, want = running.cluster.groups["core"].count, launch.plan.core.count
    is_resized = any(change.key == "InstanceCount" and "core" in change.groups for change in wanted)
    resize = GroupChange(role="core", title=f"core group: {have} -> {want} nodes", count=want)
    if is_resized and want > have:
        yield resize
    for role, level in (("core", launch.settings.core), ("primary", launch.settings.primary)):
        if not any(role in change.groups and change.classification != OF_THE_CLUSTER for change in wanted):
            continue
        values = {
            (path, key): launch.environment.in_account(value, aws.account) for path, key, value in flattened(level)
        }
        has = {(path, key): value for path, key, value in flattened(running.cluster.groups[role].settings)}
        # A setting without a pending change keeps its present value.
        for change in skipped:
            if role in change.groups and change.classification != OF_THE_CLUSTER:
                at = (change.classification, change.key)
                values.pop(at, None)
                if at in has:
                    values[at] = has[at]
        yield GroupChange(role=role, title=f"{role} group: apply today's settings", settings=of_settings(values))
    if is_resized and want < have:
        yield resize


# judgement: a rolling restart of two hundred nodes, a tenth at a time, each part within ten minutes.
LONGEST_SECONDS: Final = 3 * 3600.0
FIRST_POLL_SECONDS: Final = 0.2
POLL_SECONDS: Final = 10.0
# judgement: EMR begins within a minute or two of being asked.
BEGIN_SECONDS: Final = 300.0
STOPPED: Final = frozenset({"SUSPENDED", "ARRESTED"})
ENDED: Final = frozenset({"TERMINATING", "TERMINATED", "SHUTTING_DOWN", "ENDED"})
# judgement: a publisher speaks once a minute, and CloudWatch shows it within two.
PUBLISHED_SECONDS: Final = 300.0
SURVIVING_FRACTION: Final = 0.9  # judgement: regions that moved meanwhile take some of the cached blocks away
MOST_NAMES: Final = 5  # judgement: more names do not help to find the faulty one
NO_REASON: Final = "EMR gave no reason"
REVERTS: Final = (
    "EMR reverts a change if a daemon of the group does not run after it, within a time that EMR does not state"
)
MASTER_WAITS: Final = "a master that restarts while a RegionServer is away may wait for hbase:meta forever"
READ_GROUP_LOG: Final = (
    "read the group's log (EMR's console, instance groups); change the environment file, and run the same command again"
)


class _Groups(Struct, frozen=True, kw_only=True):
    """The instance groups of one cluster, through EMR's API. `proposed` has them as the proposal was made from them."""

    aws: Aws
    cluster_id: str
    proposed: Mapping[str, DescribedGroup]

    def wait_until_stable(self, role: str, say: Say) -> DescribedGroup:
        """The group once EMR has ended what it is at. Raises OperationFailed where it does not, or the group ends."""
        reported = ""
        for _ in turns(LONGEST_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
            group = described_groups(self.aws, self.cluster_id)[role]
            if group.state in ENDED:
                raise OperationFailed.of(
                    where=f"the {role} group of {self.cluster_id}",
                    what=f"is {group.state}",
                    why=group.why or NO_REASON,
                    fix="list what remains of the cluster: warmbase status",
                )
            if group.state in STOPPED or (group.state == "RUNNING" and group.running == group.count):
                return group
            now = f"{group.state}, {group.running} of {group.count} nodes"
            if now != reported:
                say(f"{role} group is {now}")
                reported = now
        raise OperationFailed.of(
            where=f"the {role} group of {self.cluster_id}",
            what=f"is still {reported} after {LONGEST_SECONDS / 3600:.0f} hours",
            why=NO_REASON,
            fix="check its events in the console; run the same command again to continue waiting",
        )

    def reconfigured(self, role: str, before: DescribedGroup, say: Say) -> DescribedGroup:
        """The group once EMR has ended what it was asked for. For a while it may look as before: it has not begun."""
        deadline = time.monotonic() + BEGIN_SECONDS
        while time.monotonic() < deadline:
            group = described_groups(self.aws, self.cluster_id)[role]
            same = group.version == before.version
            if not same and not (group.pending and group.state in {"RUNNING", before.state}):
                break
            say(f"{role} group is {group.state}: EMR has not started yet, or has just rolled back")
            time.sleep(POLL_SECONDS)
        return self.wait_until_stable(role, say)

    def ask(self, group: DescribedGroup, **change: Any) -> None:  # noqa: ANN401 - the API's own form
        """Sends ModifyInstanceGroups for one group."""
        request: Any = {"InstanceGroupId": group.id, **change}
        self.aws.emr.modify_instance_groups(ClusterId=self.cluster_id, InstanceGroups=[request])


def reconfiguration(aws: Aws, planned: Tuning) -> Iterator[Stage]:
    """The steps; none where nothing is to be done. Each looks first, so that they can be done again."""
    if not planned.group_changes:
        return
    groups = _Groups(aws=aws, cluster_id=planned.running.cluster.id, proposed=planned.running.cluster.groups)
    before: dict[str, ServerCache] = {}

    def read_caches(_: Say) -> str:
        before.update({cache.instance: cache for cache in caches(aws, groups.cluster_id)})
        return _filled(before.values())

    def check_caches(say: Say) -> str:
        if not before:
            return "unknown: no node had published cache metrics before the change"
        if planned.cost.cache_lost_bytes != 0:
            return "the caches start empty, as announced: warmbase status shows how full they are"
        latest = max(cache.at for cache in before.values())
        deadline = time.monotonic() + PUBLISHED_SECONDS
        while True:
            now = {cache.instance: cache for cache in caches(aws, groups.cluster_id)}
            fresh = {name: cache for name, cache in now.items() if cache.at > latest}
            if before.keys() <= fresh.keys() or time.monotonic() > deadline:
                break
            say(f"{len(fresh)} of {len(before)} RegionServers have published since")
            time.sleep(POLL_SECONDS)
        fills = {name: cache.fill for name, cache in fresh.items()}
        lost = [
            name
            for name, cache in before.items()
            if cache.fill is not None and ((fill := fills.get(name)) is None or fill < SURVIVING_FRACTION * cache.fill)
        ]
        if lost:
            names = ", ".join(lost)
            return f"{len(lost)} of {len(before)} lost part of their cache: {names}; warmbase status shows them"
        return f"kept: {_filled(fresh.values())}"

    def translated_act(act: Callable[[Say], str], say: Say) -> str:
        with translated("could not change the cluster", "run the same command again to continue"):
            return act(say)

    acts: dict[str, Callable[[Say], str]] = {"read the fill of the caches": read_caches}
    for change in planned.group_changes:
        acts[change.title] = partial(_resize if change.count is not None else _reconfigure, groups, change)
    acts["check that the caches were kept"] = check_caches
    for title, act in acts.items():
        yield Stage(title=title, act=partial(translated_act, act))


def _filled(servers: Iterable[ServerCache]) -> str:
    fills = [server.fill for server in servers if server.fill is not None]
    if not fills:
        return "unknown: no node has published cache metrics in the last minutes"
    return f"{len(fills)} RegionServers, caches {format_percent(min(fills))} to {format_percent(max(fills))} full"


def _resize(groups: _Groups, move: GroupChange, say: Say) -> str:
    group = groups.wait_until_stable(move.role, say)
    if group.count == move.count:
        return f"{group.count} nodes, as planned"
    if group.state in STOPPED:
        raise _still(move.role, group)
    if group.count != groups.proposed[move.role].count:
        raise _changed_since(groups, move.role, f"{group.count} nodes instead of {groups.proposed[move.role].count}")
    groups.ask(group, InstanceCount=move.count)
    after = groups.wait_until_stable(move.role, say)
    if after.state in STOPPED or after.running != move.count:
        raise OperationFailed.of(
            where=f"the {move.role} group",
            what=f"has {after.running} nodes instead of {move.count}, and is {after.state}",
            why=after.why or NO_REASON,
            fix="fix the cause, then run the same command again",
        )
    return f"{after.running} nodes"


def _reconfigure(groups: _Groups, move: GroupChange, say: Say) -> str:
    """Give the group its settings. Report why EMR refuses them; a group at which EMR stopped gets its old settings.

    Raises Refused where somebody has changed the group since the proposal, and for the primary group, while a
    RegionServer is away: a master that restarts then can lose hbase:meta for good.
    """
    role = move.role
    before = groups.wait_until_stable(role, say)
    if not before.pending and same_settings(before.settings, move.settings) and before.state == "RUNNING":
        return "already has these settings"
    proposed = groups.proposed[role]
    # An interrupted run continues: then the group has, or was asked for, what this run applies.
    if before.version != proposed.version and not same_settings(before.requested, move.settings):
        raise _changed_since(groups, role, f"configuration version {before.version} instead of {proposed.version}")
    if role == "primary":
        core = groups.wait_until_stable("core", say)
        if core.state != "RUNNING" or core.running != core.count:
            raise Refused.of(
                where="the primary group",
                what=f"was not changed: {core.running} of {core.count} core nodes are running, and the core group is"
                f" {core.state}",
                why=MASTER_WAITS,
                fix="wait until all core nodes are running, then run the same command again",
            )
        silent = [cache.instance for cache in caches(groups.aws, groups.cluster_id) if cache.answering == 0]
        if silent:
            raise Refused.of(
                where="the primary group",
                what=f"was not changed: the RegionServer of {', '.join(silent)} does not answer on its node",
                why=MASTER_WAITS,
                fix="read its log; once it serves again, run the same command again",
            )
    groups.ask(before, ReconfigurationType="OVERWRITE", Configurations=write_classifications(move.settings))
    after = groups.reconfigured(role, before, say)
    if after.state == "RUNNING" and not after.pending and same_settings(after.settings, move.settings):
        nodes = f"{after.running} node{'s' * (after.running != 1)}"
        return f"{sum(1 for _ in flattened(move.settings))} settings applied to {nodes}"
    why = after.why or NO_REASON
    if after.state not in STOPPED:
        has, wanted = set(flattened(before.settings)), set(flattened(move.settings))
        names = sorted({f"{path} {key}" for path, key, _ in has ^ wanted})
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        raise OperationFailed.of(
            where=f"the {role} group",
            what=f"EMR restored its previous settings; not applied: {', '.join(names[:MOST_NAMES])}{more}",
            why=f"{why}\n{REVERTS}",
            fix=READ_GROUP_LOG,
        )
    say(f"{role} group is {after.state}: {why}; restoring the previous settings")
    groups.ask(after, ReconfigurationType="OVERWRITE", Configurations=write_classifications(before.settings))
    back = groups.reconfigured(role, after, say)
    if back.state != "RUNNING" or back.pending:
        raise _still(role, back)
    raise OperationFailed.of(
        where=f"the {role} group",
        what=f"EMR could not reconfigure the group, which was {after.state}; its previous settings are restored",
        why=why,
        fix=READ_GROUP_LOG,
    )


def _changed_since(groups: _Groups, role: str, difference: str) -> Refused:
    return Refused.of(
        where=f"the {role} group of {groups.cluster_id}",
        what=f"was not changed: somebody has changed it since the proposal; it now has {difference}",
        why="applying the proposal would silently undo that change",
        fix="run the same command again, and review the new proposal",
    )


def _still(role: str, group: DescribedGroup) -> OperationFailed:
    return OperationFailed.of(
        where=f"the {role} group",
        what=f"is {group.state}, and cannot be changed until that is over",
        why=group.why or NO_REASON,
        fix="in EMR's console, look at the group's failed configurations and its nodes' logs; EMR replaces a faulty"
        " node when you terminate it there; then run the same command again",
    )
