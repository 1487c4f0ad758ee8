"""The alarms of one environment are never taken for those of another whose name begins alike."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shipped import ENVIRONMENTS
from warmbase.configurations.launch import Launch
from warmbase.dashboards.alarm import ENDS, is_alarm_of
from warmbase.dashboards.alarms import alarms, composite_alarms
from warmbase.environments.names import (
    backstop_stack,
    boost_group,
    cluster_id_parameter,
    cluster_stack,
    emr_cluster_name,
    lock_parameter,
    monitoring_stack,
    network_stack,
    renewal_parameter,
    storage_stack,
)
from warmbase.operations.cluster.alarms import _rule_name

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


def test_no_board_is_a_cluster_and_another_board(launches: Callable[[str], Launch]) -> None:
    """Else `warmbase-prod-blue-cache` would be a dashboard of prod, and one of prod-blue."""
    boards = {board for name in ENVIRONMENTS for board in launches(name).plan.mode.dashboards}
    assert [board for board in boards if "-" in board] == []


PAIRS = [
    ("prod", "blue"),
    ("prod-blue", "blue"),
    ("prod-blue", "green"),
    ("prod-blue-green", "blue"),
    ("prod-blue", "call"),
    ("prod-call", "servers"),
    ("prod-blue-call", "servers"),
    ("prod-blue", "teardown"),
    ("prod-root", "root"),
    ("prod-logs", "logs"),
    ("prod", "backstop"),
    ("prod", "lock"),
    ("prod", "network"),
    ("prod-network", "network"),
    ("prod-network", "cluster"),
    ("prod-x", "us"),
    ("prod-canary", "blue"),
    ("prod-canary-blue", "green"),
]
"""Environments and clusters whose names are read in two ways by whoever looks at a prefix."""


@pytest.mark.parametrize(("one", "other"), list(permutations(PAIRS, 2)))
def test_names_of_two_clusters_never_meet(one: tuple[str, str], other: tuple[str, str]) -> None:
    shared = common(one[0]) if one[0] == other[0] else set()
    assert (names(*one) | common(one[0])) & (names(*other) | common(other[0])) == shared
    for end in ENDS:
        assert not is_alarm_of(f"{emr_cluster_name(*other)}-{end}", *one)
        assert not is_alarm_of(f"{emr_cluster_name(*other)}-an-end-of-{end}", *one)


@given(NAMES, PARTS, PARTS, PARTS)
def test_names_of_two_environments_never_meet(environment: str, longer: str, blue: str, green: str) -> None:
    assert not names(environment, blue) & names(f"{environment}-{longer}", green)


def names(environment: str, cluster: str) -> set[tuple[str, str]]:
    """Return the names that a deployment of a cluster uses in each service, where they must be unique."""
    name = emr_cluster_name(environment, cluster)
    return {
        ("stack", cluster_stack(environment, cluster)),
        ("stack", monitoring_stack(environment, cluster)),
        ("cluster", name),
        ("role", f"{name}-us-east-1"),
        ("parameter", cluster_id_parameter(environment, cluster)),
        ("schedule group", boost_group(environment, cluster)),
        ("mute rule", _rule_name(environment, cluster)),
        *(("dashboard", f"{name}-{board}") for board in ("cache", "reads", "nodes")),
        *(("alarm", f"{name}-{end}") for end in ENDS),
    }


def common(environment: str) -> set[tuple[str, str]]:
    """Return the names that the clusters of an environment share. Only that of a canary has a backstop."""
    stacks = [network_stack(environment), storage_stack(environment)]
    groups = [backstop_stack(environment)] if environment.endswith("-canary") else []
    buckets = (f"warmbase-{environment}-{kind}-111122223333-us-east-1" for kind in ("root", "logs", "try"))
    return {
        *(("stack", stack) for stack in (*stacks, *groups)),
        *(("schedule group", group) for group in groups),
        *(("bucket", bucket) for bucket in buckets),
        ("parameter", lock_parameter(environment)),
        ("parameter", renewal_parameter(environment)),
        ("workspace", f"warmbase{environment.replace('-', 'X')}"),
    }
