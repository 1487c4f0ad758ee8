"""A plan of an analytics cluster as classifications and bootstrap actions, and the cluster that it launches.

The cluster has no HBase root, so it claims nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from warmbase.configurations.bootstrap import OPEN_FILES, PROCESSES, REQUESTS, Action, volume_arguments
from warmbase.configurations.launch import planned_group
from warmbase.configurations.properties.property import PropertyScope, classifications_of_group
from warmbase.emr.cluster_spec import Classifications, ClusterSpec, settings_of
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.engines.trino.planning import feasible_trino_plan_of
from warmbase.engines.trino.properties import SPILL, cache_directories, trino_properties
from warmbase.engines.trino.request import TrinoChoice
from warmbase.environments.environment import Environment
from warmbase.environments.names import emr_cluster_name
from warmbase.facts.releases import releases

APPLICATIONS: Final = ("Hadoop", "Trino")
"""The applications that EMR installs on an analytics cluster. The CloudWatch agent knows nothing of Trino's cache; it
would publish 34 metrics of each node that nobody draws, each at a price."""


class TrinoLaunch(Struct, frozen=True, kw_only=True):
    """The environment, the plan of one of its analytics clusters, and that plan's classifications."""

    environment: Environment
    plan: TrinoPlan
    settings: Classifications


def trino_launch_of(environment: Environment, cluster: TrinoChoice) -> TrinoLaunch:
    """Return the launch of an analytics cluster. Raises Infeasible for one that misses its targets."""
    plan = feasible_trino_plan_of(environment, cluster)
    return TrinoLaunch(environment=environment, plan=plan, settings=trino_classifications(plan))


def trino_classifications(plan: TrinoPlan) -> Classifications:
    """Return the classifications by instance group, where all of them can be tuned later."""
    entries, release = trino_properties(plan.catalog), releases()[plan.release]
    return Classifications(
        cluster=(),
        primary=classifications_of_group(entries, plan, PropertyScope.PRIMARY, release),
        core=classifications_of_group(entries, plan, PropertyScope.CORE, release),
    )


def trino_spec(launch: TrinoLaunch) -> ClusterSpec:
    """Return the planned cluster as EMR's nouns."""
    plan, settings = launch.plan, launch.settings
    primary, core = settings_of(settings.primary), settings_of(settings.core)
    return ClusterSpec(
        source=launch.environment.source,
        name=emr_cluster_name(plan.environment, plan.cluster),
        release_label=plan.release,
        os_release=launch.environment.os_release,
        settings={},
        groups=(planned_group("primary", plan.coordinator, primary), planned_group("core", plan.workers, core)),
        applications=APPLICATIONS,
        open_networks=launch.environment.access.cidrs,
        classifications={classification.name: None for level in settings for classification in level},
    )


# judgement: before Trino starts, the pages of the cache are counted where the volume is nearly full, and Alluxio reads
# their names after that; a million files of 1 MiB take less than a minute each time.
START_SECONDS: Final = 600


def actions(launch: TrinoLaunch) -> tuple[Action, ...]:
    """Return the actions in a node's order; those after the second do nothing on the coordinator's node."""
    return (
        Action(name="start-agent", arguments=()),
        Action(
            name="tune-kernel", arguments=("--user=trino", f"--open-files={OPEN_FILES}", f"--processes={PROCESSES}")
        ),
        *_of_workers(launch.plan),
    )


def _of_workers(plan: TrinoPlan) -> Iterator[Action]:
    yield Action(name="mount-volumes", arguments=tuple(volume_arguments(plan.workers)))
    yield Action(
        name="guard-trino-worker",
        arguments=(
            f"--cache-directories={','.join(cache_directories(plan))}",
            f"--cache-gib={plan.cache.size_gib // plan.cache.directories}",
            f"--spill-directory={SPILL}",
            f"--catalog={plan.catalog}",
            f"--start-seconds={START_SECONDS}",
            f"--open-files={OPEN_FILES}",
            f"--processes={PROCESSES}",
        ),
        programs={"program": "before_trino_worker.py"},
    )
    yield Action(
        name="publish-trino-metrics",
        arguments=(f"--catalog={plan.catalog}", f"--least-hit-rate={plan.least_hit_rate:.3f}"),
        programs={"program": "publish_trino_metrics.py", "requests": REQUESTS},
    )
