"""A proposal applies the changes that are worth a restart, in an order, and leaves all other settings alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import launch_of
from warmbase.changes.change import OF_THE_CLUSTER, Change
from warmbase.configurations.properties.property import Applied
from warmbase.emr.cluster_spec import flattened, of_settings
from warmbase.operations.deploy.tuning import Tuning, tuning

HANDLERS = "hbase.regionserver.handler.count"
LAUNCH = launch_of("prod")


def change(key: str = HANDLERS, before: str | None = "100", after: str | None = "104", **more: Any) -> Change:
    values: dict[str, Any] = {
        "groups": ("core",),
        "classification": "hbase-site",
        "restarts": "HBase",
        "overridden": False,
    } | more
    return Change(
        key=key, before=before, after=after, applied=Applied.ROLLING_RESTART, empties_cache=False, why="", **values
    )


def proposed(*pending: Change, everything: bool = False, running: dict[tuple[str, str], str] | None = None) -> Tuning:
    """Return the proposal for a cluster whose core group has these settings."""
    plan = LAUNCH.plan
    groups = {
        "core": SimpleNamespace(count=plan.core.count, settings=of_settings(running or {})),
        "primary": SimpleNamespace(count=3, settings=LAUNCH.settings.primary),
    }
    cluster: Any = SimpleNamespace(cluster=SimpleNamespace(groups=groups))
    aws: Any = SimpleNamespace(account="123456789012")
    free: Any = lambda _: None  # noqa: E731 - the cost of a proposal has its own tests
    return tuning(aws, cluster, LAUNCH, pending, free, everything=everything)


@pytest.mark.parametrize(
    ("pending", "is_small"),
    [
        (change(after="104"), True),
        (change(after="105"), True),
        (change(after="96"), True),
        (change(after="106"), False),
        (change(after="94"), False),
        (change(after="10"), False),
        (change(before=None), False),
        (change(after=None), False),
        (change(before="true", after="false"), False),
        (change(overridden=True), False),
        (change(restarts=""), False),
        (change(classification=OF_THE_CLUSTER), False),
    ],
)
def test_only_a_figure_that_moved_little_in_either_direction_is_small(pending: Change, is_small: object) -> None:
    found = proposed(pending)
    assert (found.small == (pending,)) is is_small
    assert (found.changes == (pending,)) is not is_small
    assert proposed(pending, everything=True).changes == (pending,)


TIMEOUT = "hbase.rpc.timeout"


@pytest.mark.parametrize(
    ("small", "large", "is_applied"),
    [
        (change(), change(TIMEOUT, after="900"), True),
        (change(), change(TIMEOUT, after="900", groups=("primary", "core")), True),
        (change(groups=("primary", "core")), change(TIMEOUT, after="900"), False),
        (change(), change(TIMEOUT, after="900", groups=("primary",)), False),
        (change(), change("dfs.replication", after="900", classification="hdfs-site", restarts="HDFS"), False),
    ],
)
def test_a_small_change_is_applied_where_its_daemons_restart_anyway(
    small: Change, large: Change, is_applied: object
) -> None:
    found = proposed(small, large)
    assert (small in found.changes) is is_applied
    assert (small in found.small) is not is_applied
    assert large in found.changes


def test_settings_without_a_pending_change_keep_their_present_values() -> None:
    wanted = {(path, key): value for path, key, value in flattened(LAUNCH.settings.core)}
    kept, absent = ("hbase-site", HANDLERS), ("hbase-site", "hbase.bucketcache.size")
    assert {kept, absent} <= wanted.keys()
    large = change("dfs.replication", after="900", classification="hdfs-site", restarts="HDFS")
    small = (change(), change(absent[1], before="100", after="101"))
    found = proposed(*small, large, running={kept: "100"})
    [request] = found.group_changes
    applied = {(path, key): value for path, key, value in flattened(request.settings)}
    assert applied[kept] == "100"
    assert absent not in applied
    assert applied.keys() == wanted.keys() - {absent}


def test_new_nodes_come_first_and_nodes_that_go_last() -> None:
    size = change("InstanceCount", after="9", classification=OF_THE_CLUSTER, restarts="")
    count = LAUNCH.plan.core.count
    for now, titles in (
        (count - 1, [f"core group: {count - 1} -> {count} nodes", "core group: apply today's settings"]),
        (count + 1, ["core group: apply today's settings", f"core group: {count + 1} -> {count} nodes"]),
    ):
        groups = {"core": SimpleNamespace(count=now, settings=()), "primary": SimpleNamespace(count=3, settings=())}
        cluster: Any = SimpleNamespace(cluster=SimpleNamespace(groups=groups))
        aws: Any = SimpleNamespace(account="123456789012")
        pending = (size, change(TIMEOUT, after="900"))
        found = tuning(aws, cluster, LAUNCH, pending, lambda _: None, everything=False)  # type: ignore[arg-type, return-value]
        assert [move.title for move in found.group_changes] == titles
