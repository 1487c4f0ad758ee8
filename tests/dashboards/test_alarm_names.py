"""The alarms of one environment are never taken for those of another whose name begins alike."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shipped import ENVIRONMENTS
from warmbase.configurations.launch import Launch
from warmbase.dashboards.alarm import ENDS, is_alarm_of
from warmbase.dashboards.alarms import alarms, composite_alarms
from warmbase.environments.names import (
    cluster_id_parameter,
    cluster_stack,
    emr_cluster_name,
    monitoring_stack,
    network_stack,
    storage_stack,
)

NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,20})", fullmatch=True)
PARTS = st.sampled_from(["blue", "cluster", "monitoring", "network", "storage"])
CLUSTERS = st.from_regex(r"[a-z]{1,12}", fullmatch=True)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_alarm_of_a_plan_has_a_listed_end(name: str, launches: Callable[[str], Launch]) -> None:
    plan, root = launches(name).plan, launches(name).environment.root
    names = [alarm.name for made in (alarms, composite_alarms) for alarm in made(plan, root)]
    start = f"{emr_cluster_name(plan.environment, plan.cluster)}-"
    assert {alarm.removeprefix(start) for alarm in names} <= ENDS
    assert all(is_alarm_of(alarm, plan.environment, plan.cluster) for alarm in names)


@given(NAMES, CLUSTERS, CLUSTERS, st.sampled_from(sorted(ENDS)))
def test_an_alarm_belongs_to_one_environment(environment: str, cluster: str, other: str, end: str) -> None:
    longer = f"{environment}-{cluster}"
    assert is_alarm_of(f"{emr_cluster_name(longer, other)}-{end}", longer, other)
    assert not is_alarm_of(f"{emr_cluster_name(longer, other)}-{end}", environment, cluster)
    assert not is_alarm_of(f"{emr_cluster_name(environment, cluster)}-{end}", environment, f"{cluster[:-1]}q{cluster}")


def test_no_end_is_a_cluster_and_another_end() -> None:
    assert {end for end, other in product(ENDS, ENDS) if end.endswith(f"-{other}")} == set()


@given(NAMES, PARTS, PARTS, PARTS)
def test_names_of_two_environments_never_meet(environment: str, longer: str, blue: str, green: str) -> None:
    assert not names(environment, blue) & names(f"{environment}-{longer}", green)


def names(environment: str, cluster: str) -> set[tuple[str, str]]:
    """Return the names that a deployment uses in each service, where they must be unique."""
    return {
        ("stack", network_stack(environment)),
        ("stack", storage_stack(environment)),
        ("stack", cluster_stack(environment, cluster)),
        ("stack", monitoring_stack(environment, cluster)),
        ("cluster", emr_cluster_name(environment, cluster)),
        ("parameter", cluster_id_parameter(environment, cluster)),
    }
