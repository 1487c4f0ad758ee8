"""A plan of an analytics cluster as classifications, and the cluster that it launches."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from configurations.engines.trino.properties import PROPERTIES
from configurations.planned_spec import planned_group
from configurations.properties.property import PropertyScope
from emr.classification import Classification, Classifications, of_settings
from emr.cluster_spec import ClusterSpec, settings_of
from environments.engines.trino.planning import feasible_trino_plan_of
from environments.environment import Environment
from environments.names import emr_cluster_name
from sizing.engines.trino.plan import TrinoPlan
from sizing.engines.trino.request import TrinoChoice

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
    return Classifications(
        cluster=(), primary=_group(plan, PropertyScope.PRIMARY), core=_group(plan, PropertyScope.CORE)
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


def _group(plan: TrinoPlan, group: PropertyScope) -> tuple[Classification, ...]:
    entries = (entry for entry in PROPERTIES if group in entry.groups and plan.catalog in entry.catalogs)
    return of_settings({entry.at(plan): entry.value(plan) for entry in entries})
