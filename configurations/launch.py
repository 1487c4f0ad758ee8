"""The launch of a cluster: its plan rendered as classifications, and the cluster that EMR is asked to start.

Classifications are the properties of the catalogue, each with its value for this cluster. Overrides of the environment
file replace these values, in the groups whose nodes read the property.

`planned_spec` is the cluster that a plan launches, in EMR's nouns: lint checks it, CloudFormation creates it, and
changes are found by comparison with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.configurations.properties import CATALOGUE, RENDERED, PropertyScope, RenderingContext
from warmbase.configurations.properties.property import BOTH, classifications_of_group
from warmbase.emr.cluster_spec import (
    Classification,
    Classifications,
    ClusterSpec,
    EbsVolume,
    InstanceGroup,
    Settings,
    TableCoprocessor,
    flattened,
    is_placeholder,
    merged,
    of_settings,
    settings_of,
)
from warmbase.environments.environment import PINNED, Environment, HBaseSecurity, Override, Wal
from warmbase.environments.names import emr_cluster_name
from warmbase.environments.planning import feasible_plan_of
from warmbase.facts.keys import current_key
from warmbase.facts.releases import classifications as documented_classifications
from warmbase.facts.releases import releases
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.sizing.plan import CoreGroup, Plan, PrimaryGroup
from warmbase.sizing.requirements import ClusterChoice

NEW_CLUSTER: Final = HBaseSecurity()


def classifications(environment: Environment, plan: Plan, security: HBaseSecurity = NEW_CLUSTER) -> Classifications:
    """Return the classifications of a launch: storage identity for all nodes, all other settings by instance group.

    The environment's overrides replace planned values. Raises InvalidInput for an override of a property that is not
    tuning, and RenderingError for a planned value that its property does not allow.
    """
    release, role = releases()[plan.release], environment.clusters[plan.cluster].role
    writes_to_emr_wal = environment.wal is Wal.EMR_WAL and role == "active"
    context = RenderingContext(
        plan=plan,
        release=release,
        role=role,
        region=environment.region,
        security=security,
        wal_workspace=environment.wal_workspace if writes_to_emr_wal else "",
    )
    groups = (classifications_of_group(RENDERED, context, group, release) for group in PropertyScope)
    return overridden(Classifications(*groups), environment.overrides)


APPLICATIONS: Final = ("AmazonCloudWatchAgent", "HBase", "ZooKeeper")
"""The applications that EMR installs; the agent publishes the metrics."""


class Launch(Struct, frozen=True, kw_only=True):
    """The environment, the plan of one of its clusters, and that plan's classifications."""

    environment: Environment
    plan: Plan
    settings: Classifications
    security: HBaseSecurity = NEW_CLUSTER
    """The security settings of HBase. A running cluster has those of its launch."""


def launch_of(environment: Environment, cluster: ClusterChoice, security: HBaseSecurity | None = None) -> Launch:
    """Return the launch of a cluster, with the security settings of the environment file unless others are stated.

    Raises Infeasible for a cluster that misses its targets, and InvalidInput for an override that cannot be applied.
    """
    return launch_with(environment, feasible_plan_of(environment, cluster), security)


def launch_with(environment: Environment, plan: Plan, security: HBaseSecurity | None = None) -> Launch:
    """Return the launch of an existing plan."""
    security = security or HBaseSecurity(kerberos=environment.kerberos)
    settings = classifications(environment, plan, security)
    return Launch(environment=environment, plan=plan, settings=settings, security=security)


def planned_spec(launch: Launch) -> ClusterSpec:
    """The planned cluster; a setting that the environment file overrides has its line in that file."""
    plan, overrides = launch.plan, launch.environment.overrides
    primary = _with_lines(settings_of(launch.settings.primary), overrides, PropertyScope.PRIMARY)
    core = _with_lines(settings_of(launch.settings.core), overrides, PropertyScope.CORE)
    return ClusterSpec(
        source=launch.environment.source,
        name=emr_cluster_name(plan.environment, plan.cluster),
        release_label=plan.release,
        os_release=launch.environment.os_release,
        settings=settings_of(launch.settings.cluster),
        groups=(planned_group("primary", plan.primary, primary), planned_group("core", plan.core, core)),
        applications=APPLICATIONS,
        has_kerberos=launch.security.kerberos is not None,
        open_networks=launch.environment.access.cidrs,
        coprocessors=tuple(
            TableCoprocessor(table=table, class_name=class_name)
            for inspection in launch.environment.workload.inspections
            for table, classes in inspection.coprocessors.items()
            for class_name in classes
        ),
        classifications={path: None for level in launch.settings for path in _paths(level)},
    )


def _with_lines(settings: Settings, overrides: Iterable[Override], group: PropertyScope) -> Settings:
    """The settings of a group with the line of each that an override sets."""
    lines = {
        (override.classification, override.key): override.line for override in overrides if group in groups_of(override)
    }
    return {at: replace(setting, line=lines.get(at), overridden=at in lines) for at, setting in settings.items()}


def planned_group(role: str, group: CoreGroup | PrimaryGroup, settings: Settings) -> InstanceGroup:
    """Return the group as EMR's noun. A drive of the instance comes with it and is no volume to attach.

    EMR mostly mounts the first volume at /mnt and logs there, so the cache's is the last. Nothing relies on the order:
    a node tells its volumes apart by their sizes.
    """
    attached = [volume for volume in group.volumes if volume.type != "nvme"]
    return InstanceGroup(
        role=role,
        instance_type=group.instance_type,
        count=group.count,
        volumes=tuple(
            EbsVolume(
                type=volume.type,
                size_gib=volume.size_gib,
                iops=volume.iops,
                throughput_mib_s=volume.throughput_mib_s,
                count=volume.count,
            )
            for volume in sorted(attached, key=lambda volume: volume.purpose == "cache")
        ),
        settings=settings,
    )


def _paths(level: Iterable[Classification], inside: str = "") -> Iterator[str]:
    for classification in level:
        path = f"{inside}/{classification.name}".removeprefix("/")
        yield path
        yield from _paths(classification.nested, path)


DECIDED: Final = {
    "hbase.emr.readreplica.enabled": "clusters.NAME.role",
    "hbase.wal.dir": "storage.wal",
    "hbase.wal.provider": "storage.wal",
    "fs.defaultFS": "storage.mode",
    "hbase.security.authentication": "security.kerberos",
    "fs.s3.impl": "release, which decides the S3 client",
    "fs.s3a.endpoint.region": "region",
}
"""Properties that a group could set but that are not tuning, with the key of the environment file that decides them."""


def overridden(planned: Classifications, overrides: Iterable[Override]) -> Classifications:
    """Return the planned settings with the overrides applied, each in the groups whose nodes read the property.

    A property that the catalogue does not know goes to every group. Raises InvalidInput with every override that
    cannot be applied: of a property that another key decides, in an unknown classification, with a placeholder as its
    value, or without effect.
    """
    overrides = tuple(overrides)
    in_hbase_site = {key for level in planned for path, key, _ in flattened(level) if path == "hbase-site"}
    in_hbase_site |= {override.key for override in overrides if override.classification == "hbase-site"}
    problems = [problem for override in overrides for problem in _problems(override, in_hbase_site)]
    if problems:
        raise InvalidInput(problems)
    return Classifications(
        cluster=planned.cluster,
        primary=_with(planned.primary, overrides, PropertyScope.PRIMARY),
        core=_with(planned.core, overrides, PropertyScope.CORE),
    )


def is_applicable(override: Override) -> bool:
    """Return whether an environment file may have the override."""
    return not any(_problems(override, frozenset()))


def groups_of(override: Override) -> frozenset[PropertyScope]:
    """Return the instance groups whose nodes read the property."""
    catalogued = CATALOGUE.get((override.classification, override.key))
    return (catalogued.groups & BOTH or BOTH) if catalogued else BOTH


def _with(
    planned: tuple[Classification, ...], overrides: Iterable[Override], group: PropertyScope
) -> tuple[Classification, ...]:
    for override in overrides:
        if group in groups_of(override):
            planned = merged(planned, of_settings({(override.classification, override.key): override.value}))
    return planned


def _problems(override: Override, in_hbase_site: AbstractSet[str]) -> Iterator[Problem]:
    at = (override.classification, override.key)
    what = f"overrides.{override.classification}.{override.key}"
    # A key of the file that decides a property decides it in every classification (hbase.rootdir in another file would
    # be a second root), and under its old name (Hadoop reads fs.default.name as it reads fs.defaultFS).
    current = current_key(override.key)
    decided = DECIDED.get(current)
    if any(entry.is_identity for (_, key), entry in CATALOGUE.items() if key == current):
        decided = "storage.mode, storage.root or storage.wal"
    if decided is not None:
        why = "it is part of the cluster's identity, and not tuning"
        yield Problem(where=override.where, what=what, why=why, fix=f"remove it, and set {decided} instead")
    elif at in CATALOGUE and at not in PINNED and CATALOGUE[at].figure:
        why = f"the property states the plan's figure {CATALOGUE[at].figure}, and the plan would show a different value"
        yield Problem(where=override.where, what=what, why=why, fix="remove it")
    elif current != override.key and any(current == key for _, key in CATALOGUE):
        why = f"the key is the deprecated name of {current}, which warmbase sets, so one of the two would be ignored"
        yield Problem(where=override.where, what=what, why=why, fix=f"write {current}")
    elif override.classification not in documented_classifications():
        near = get_close_matches(override.classification, sorted(documented_classifications()), n=1)
        yield Problem(
            where=override.where,
            what=f"overrides.{override.classification}",
            why="EMR documents no such classification",
            fix=f"did you mean {near[0]}?"
            if near
            else "use one that EMR documents (warmbase/facts/classifications.csv)",
        )
    elif any(is_placeholder(override.classification, text) for text in (override.value, override.key)):
        why = f"{override.key}={override.value} is a placeholder, and a node would use it literally"
        yield Problem(where=override.where, what=what, why=why, fix="replace it with a value, or remove it")
    elif override.classification == "core-site" and override.key in in_hbase_site:
        why = "hbase-site sets the key too, and HBase reads hbase-site last"
        yield Problem(where=override.where, what=what, why=why, fix=f"set it under hbase-site: {override.key}")
