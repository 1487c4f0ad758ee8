"""A cluster that runs, planned anew: what its launch has settled for good is kept, and the rest is today's.

Whatever the file asks for by now, the nodes have the type, the volumes and the release that they were launched with: a
plan for others would set a cache that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from changes.launched import recorded_actions, recorded_spec
from emr.cluster_spec import InstanceGroup
from environments.environment import Environment
from environments.launch_record import LaunchRecord, in_recorded_zones
from environments.planning import plan_of
from facts.instance_types import instance_types
from sizing.cluster import ClusterChoice, CoreChoice, Volume
from sizing.disks import nvme_volume
from sizing.plan import Plan
from sizing.problem import Infeasible
from sizing.warning import MISSED_TARGET

__all__ = ["pinned_to_record"]

MOUNTS = "mount-volumes"
GUARD = "guard-regionserver"


def pinned_to_record(environment: Environment, record: LaunchRecord | None) -> Environment:
    """The environment as that one cluster sees it: its zone, its release, the nodes it was launched with.

    As many core nodes as at launch where these meet the targets and the file names no number, else as many as do; where
    no number does, as many as at launch, and the plan warns of each target that is missed. Without a record, as it is.
    """
    if record is None:
        return environment
    cluster_name, subject = record.identity.cluster, recorded_spec(record)
    kept = replace(in_recorded_zones(environment, [record]), release=str(subject.release_label))
    choice = _recorded_choice(kept, kept.clusters[cluster_name], record)
    return replace(kept, clusters={**kept.clusters, cluster_name: choice})


def _recorded_choice(environment: Environment, choice: ClusterChoice, record: LaunchRecord) -> ClusterChoice:
    subject, arguments = recorded_spec(record), _arguments(record)
    primary, core = subject.group("primary"), subject.group("core")
    assert primary is not None and core is not None and core.instance_type is not None  # noqa: S101, PT018
    cache_mib = arguments[GUARD].get("cache-mib")
    kept = replace(
        choice,
        primaries=primary.count or choice.primaries,
        primary_type=primary.instance_type,
        core=CoreChoice(
            type=core.instance_type,
            count=choice.core.count,
            volumes=tuple(_volumes(core, arguments[MOUNTS])),
            families=choice.core.families,
            cache_mib=int(cache_mib) if cache_mib else None,
        ),
    )
    if choice.core.count is not None:
        return kept
    return replace(kept, core=replace(kept.core, count=_count(environment, kept, core.count)))


def _count(environment: Environment, kept: ClusterChoice, launched: int | None) -> int | None:
    """As many as were launched, unless these miss a target that more or fewer would meet."""
    with suppress(Infeasible):
        if not _misses(plan_of(environment, replace(kept, core=replace(kept.core, count=launched)))):
            return launched
    with suppress(Infeasible):
        found = plan_of(environment, kept)
        if found.feasible:
            return found.core.count
    return launched


def _misses(plan: Plan) -> bool:
    """Return whether a cluster of a stated size misses a target: such a plan only warns of it."""
    return any(warning.id.startswith(MISSED_TARGET) for warning in plan.warnings)


def _arguments(record: LaunchRecord) -> dict[str, dict[str, str]]:
    """Of each bootstrap action, by name."""
    return {
        action: {name.removeprefix("--"): value for name, _, value in (each.partition("=") for each in said)}
        for action, said in recorded_actions(record)
    }


def _volumes(core: InstanceGroup, mounted: Mapping[str, str]) -> Iterator[Volume]:
    """What each is for, a node knows by its size; what is not among the volumes of EBS is the instance's own drive."""
    for purpose in ("cache", "data", "system"):
        size = mounted.get(f"{purpose}-volume-gib")
        if size is None:
            continue
        found = next((volume for volume in core.volumes if volume.size_gib == int(size)), None)
        if found is None:
            yield nvme_volume(instance_types()[str(core.instance_type)])
            continue
        yield Volume(
            purpose=purpose,
            type=str(found.type),
            count=found.count,
            size_gib=int(size),
            iops=found.iops or 0,
            throughput_mib_s=found.throughput_mib_s or 0,
        )
