"""The JSON of `warmbase status` has each cluster's name under its key and under the deprecated one."""

from __future__ import annotations

from cli.status import _document as document
from operations.state import ClusterState, EnvironmentState

CLUSTER = ClusterState(
    name="green",
    role="replica",
    cluster=None,
    launched_at=None,
    recorded=False,
    caches=None,
    differences=None,
    alarms=(),
    usd_per_month=None,
    why="the cluster was never launched",
)


def test_a_cluster_has_its_name_under_both_keys() -> None:
    state = EnvironmentState(environment="prod", at="2026-11-22", claim=None, claim_why="", clusters=(CLUSTER,))
    [cluster] = document(state)["clusters"]
    assert (cluster["name"], cluster["colour"]) == ("green", "green")
