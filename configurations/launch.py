"""The launch of a cluster: its plan rendered as classifications, and what EMR is asked to start with them.

Classifications come from templates. What a template renders is parsed back and checked against the catalogue of
properties.

`planned_spec` is the cluster that a plan launches, in EMR's nouns: lint checks it, CloudFormation creates it, and
changes are found by comparison with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
from msgspec import Struct

from warmbase.configurations import node_files
from warmbase.configurations.metrics import EXPORT_INTERVAL_MS, METRICS, OF_AGENT, MetricSource, metrics_of
from warmbase.configurations.overrides import groups_of, overridden
from warmbase.configurations.properties import CATALOGUE, PropertyScope
from warmbase.configurations.properties.assignment import MOVING_FRACTION
from warmbase.configurations.properties.cache import PREFETCH_DELAY_MS, QUEUE_WAIT_MS
from warmbase.configurations.properties.compaction import compaction_window
from warmbase.configurations.properties.hadoop import THROTTLE_INTERVAL_MS, THROTTLE_TRIES, UNHEALTHY_DISK_PERCENT
from warmbase.configurations.properties.java import PRIMARY_HEAP_MIB, jvm
from warmbase.configurations.properties.security import ACCESS_CONTROLLER, TOKENS
from warmbase.emr.api import read_classifications
from warmbase.emr.cluster_spec import (
    Classification,
    Classifications,
    ClusterSpec,
    EbsVolume,
    InstanceGroup,
    Setting,
    Settings,
    TableCoprocessor,
    flattened,
    settings_of,
)
from warmbase.environments.environment import Environment, HBaseSecurity, Wal
from warmbase.environments.names import emr_cluster_name
from warmbase.environments.override import Override
from warmbase.environments.planning import feasible_plan_of
from warmbase.facts.releases import releases
from warmbase.ground.block import Inspection
from warmbase.ground.release import Release
from warmbase.ground.units import MIB
from warmbase.sizing import cost
from warmbase.sizing.cache import allocator, hit_ratio
from warmbase.sizing.cache.bucket_cache import largest_cached_compaction_bytes
from warmbase.sizing.plan import CoreGroup, Plan, PrimaryGroup
from warmbase.sizing.recovery import bad_hours
from warmbase.sizing.requirements import ClusterChoice, Volume
from warmbase.sizing.server import memory, restart, system_volume, write_path
from warmbase.sizing.server.restart import BACKOFF_MS, SESSION_TIMEOUT_MS
from warmbase.sizing.server.system_volume import LOCATION_REFRESH_MS
from warmbase.sizing.workload import workload

NEW_CLUSTER: Final = HBaseSecurity()


def classifications(environment: Environment, plan: Plan, security: HBaseSecurity = NEW_CLUSTER) -> Classifications:
    """Return the classifications of a launch: storage identity for all nodes, all other settings by instance group.

    The environment's overrides replace planned values. Raises InvalidInput for an override of a property that is not
    tuning, and RenderingError when a template renders a property that the catalogue does not know.
    """
    release = releases()[plan.release]
    emr_wal = environment.wal is Wal.EMR_WAL and _role(environment, plan) == "active"
    values = {
        "plan": plan,
        "mode": plan.mode,
        "security": security,
        "access_controller": ACCESS_CONTROLLER,
        "token_provider": TOKENS,
        "role": _role(environment, plan),
        "wal_workspace": environment.wal_workspace if emr_wal else None,
        "release": release,
        "region": environment.region,
        **ASSUMPTIONS,
        "layout": node_files,
        "jvm": jvm(plan, release),
        "compactions": compaction_window(environment.region),
        "throttle_interval_ms": THROTTLE_INTERVAL_MS,
        "throttle_tries": THROTTLE_TRIES,
        "unhealthy_disk_percent": UNHEALTHY_DISK_PERCENT,
        "daemons": (MetricSource.REGION_SERVER, MetricSource.MASTER),
        "system": MetricSource.SYSTEM,
        "metrics_of": metrics_of,
        "export_interval_ms": EXPORT_INTERVAL_MS,
        "primary_heap_mib": PRIMARY_HEAP_MIB,
        "queue_wait_ms": QUEUE_WAIT_MS,
        "prefetch_delay_ms": PREFETCH_DELAY_MS,
        "reopen_backoff_ms": BACKOFF_MS,
        "largest_cached_compaction_bytes": _largest_cached_compaction_bytes(plan),
        "moving_fraction": MOVING_FRACTION,
        "session_timeout_ms": SESSION_TIMEOUT_MS,
        "block_location_refresh_ms": LOCATION_REFRESH_MS,
    }
    planned = Classifications(*(_group(group, release, values) for group in PropertyScope))
    return overridden(planned, environment.overrides)


def _role(environment: Environment, plan: Plan) -> str:
    return environment.clusters[plan.cluster].role


def _largest_cached_compaction_bytes(plan: Plan) -> int | None:
    """Return the largest compaction whose output enters the cache; None where the caches hold all the data."""
    if plan.bucket_cache is None:
        return None
    data_bytes, _ = plan.hit_ratio.curve[-1]
    return largest_cached_compaction_bytes(plan.bucket_cache.size_mib * MIB, plan.core.count, data_bytes)


ASSUMPTIONS: Final = {
    module.__name__.rpartition(".")[2]: module
    for module in (allocator, bad_hours, cost, hit_ratio, memory, restart, system_volume, workload, write_path)
}
"""Modules of `sizing` whose constants say what it assumes of HBase; the templates render them."""


class RenderingError(AssertionError):
    """A template and the catalogue disagree, which is a fault of warmbase and not of the input."""


@cache
def templates() -> jinja2.Environment:
    """Return the templates of this room, each compiled once; an undefined name in one is an error."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    # Nothing here is HTML: these are JSON files for EMR, and parsing them back is their check.
    return jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True, autoescape=False)  # noqa: S701


def _group(group: PropertyScope, release: Release, values: Mapping[str, object]) -> tuple[Classification, ...]:
    text = templates().get_template(f"{group}.json.j2").render(values)
    parsed = json.loads(text, object_pairs_hook=_check_duplicates)
    rendered = read_classifications(parsed)
    for path, key, value in flattened(rendered):
        if (fault := _fault(group, release, (path, key), value)) is not None:
            raise RenderingError(f"{group}: {fault}")
    return rendered


def _fault(group: PropertyScope, release: Release, entry: tuple[str, str], value: str) -> str | None:
    """Return why the catalogue does not allow the value, None where it does."""
    name, catalogued = " ".join(entry), CATALOGUE.get(entry)
    if catalogued is None or group not in catalogued.groups:
        return f"{name} is not in the catalogue for that group"
    if not catalogued.exists_in(release):
        return f"{release.label} does not know {name}"
    refusal = catalogued.values.refusal(value)
    return f"{name}: {refusal}" if refusal is not None else None


def _check_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise RenderingError(f"a key is rendered twice among {[key for key, _ in pairs]}")
    return dict(pairs)


def is_rendered(path: str, key: str) -> bool:
    """Return whether a template renders the property; the others of the catalogue keep the software's default."""
    beans = {(f"emr-metrics/{metric.source}", metric.bean) for metric in METRICS if metric.source in OF_AGENT}
    return (path, key) in beans or any(f'"{key}"' in text for text in _template_texts())


@cache
def _template_texts() -> tuple[str, ...]:
    files = sorted(Path(__file__).parent.glob("templates/**/*.json.j2"))
    return tuple(file.read_text(encoding="utf-8") for file in files)


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
        coprocessors=tuple(_coprocessors(launch.environment.workload.inspections)),
        classifications={path: None for level in launch.settings for path in _paths(level)},
    )


def _coprocessors(inspections: Iterable[Inspection]) -> Iterator[TableCoprocessor]:
    for inspection in inspections:
        for table, classes in inspection.coprocessors.items():
            yield from (TableCoprocessor(table=table, class_name=class_name) for class_name in classes)


def _with_lines(settings: Settings, overrides: Iterable[Override], group: PropertyScope) -> Settings:
    """The settings of a group with the line of each that an override sets."""
    lines = {
        (override.classification, override.key): override.line for override in overrides if group in groups_of(override)
    }
    return {
        at: Setting(
            classification=setting.classification,
            key=setting.key,
            value=setting.value,
            line=lines.get(at),
            overridden=at in lines,
        )
        for at, setting in settings.items()
    }


def planned_group(role: str, group: CoreGroup | PrimaryGroup, settings: Settings) -> InstanceGroup:
    """Return the group as EMR's noun. A drive of the instance comes with it and is no volume to attach.

    EMR mostly mounts the first volume at /mnt and logs there, so the cache's is the last. Nothing relies on the order:
    a node tells its volumes apart by their sizes.
    """
    attached = (volume for volume in group.volumes if volume.type != "nvme")
    return InstanceGroup(
        role=role,
        instance_type=group.instance_type,
        count=group.count,
        volumes=tuple(_volume(volume) for volume in sorted(attached, key=lambda volume: volume.purpose == "cache")),
        settings=settings,
    )


def _volume(volume: Volume) -> EbsVolume:
    return EbsVolume(
        type=volume.type,
        size_gib=volume.size_gib,
        iops=volume.iops,
        throughput_mib_s=volume.throughput_mib_s,
        count=volume.count,
    )


def _paths(level: Iterable[Classification], inside: str = "") -> Iterator[str]:
    for classification in level:
        path = f"{inside}/{classification.name}".removeprefix("/")
        yield path
        yield from _paths(classification.nested, path)
