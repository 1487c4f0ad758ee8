"""The steps of a teardown on the primary: what each asks of HBase, and what it refuses to go on with."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct, field

from warmbase.ground.errors import Refused
from warmbase.operations.aws.node_command import CommandOutcome
from warmbase.operations.deploy import teardown
from warmbase.operations.deploy.teardown import primary_actions

EXPORTED = "s3://exports/hbase/"
STOPPED: dict[str, Any] = {"returned": False, "servers": []}
GOOD: dict[str, Any] = {"missing": [], "stale": []}


class Primary(Struct):
    """A primary node that gives these answers in order, and notes what it was asked."""

    answers: list[dict[str, Any]]
    asked: list[tuple[str, ...]] = field(default_factory=list)
    aws: Any = None
    cluster_id: str = "j-1"

    def run(self, program: str, _: object, *arguments: str) -> dict[str, Any]:
        self.asked.append((program, *arguments))
        return self.answers.pop(0)


def act(step: Any, primary: Primary) -> str:
    said: Any = primary
    return primary_actions(EXPORTED)[step][1](said, lambda _: None)


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> dict[str, CommandOutcome | None]:
    """Return the outcome of the command that stops units, by node: of two core nodes and two primaries."""
    done = CommandOutcome(status="Success", output="", errors="")
    outcomes: dict[str, CommandOutcome | None] = dict.fromkeys(("core-1", "core-2", "master-1", "master-2"), done)
    monkeypatch.setattr(
        teardown, "running_nodes", lambda _, __, role: [n for n in outcomes if n.startswith(role.lower())]
    )
    monkeypatch.setattr(teardown, "send", lambda _, node, *__: node)
    monkeypatch.setattr(teardown, "outcome", lambda _, __, node, ___: outcomes[node])
    return outcomes


@pytest.mark.parametrize(
    ("first", "last", "running", "refused"),
    [
        (STOPPED, STOPPED, {}, None),
        (STOPPED | {"servers": ["s1"]}, STOPPED, {}, "RegionServers are still running: s1"),
        (STOPPED, STOPPED | {"servers": ["s2"]}, {}, "RegionServers are still running: s2"),
        # What systemd has started again, the stopped units end; they decide, and not the first answer.
        (STOPPED | {"returned": True, "servers": ["s1"]}, STOPPED, {}, None),
        (STOPPED, STOPPED, {"core-2": "hbase-regionserver"}, "units are still running: hbase-regionserver on core-2"),
        (STOPPED, STOPPED, {"master-1": "hbase-master"}, "units are still running: hbase-master on master-1"),
    ],
)
def test_hbase_is_stopped_once_no_server_and_no_unit_runs(
    first: dict[str, Any],
    last: dict[str, Any],
    running: dict[str, str],
    refused: str | None,
    nodes: dict[str, CommandOutcome | None],
) -> None:
    nodes.update({node: CommandOutcome(status="Failed", output=unit, errors="") for node, unit in running.items()})
    primary = Primary([first, last])
    if refused is not None:
        with pytest.raises(Refused, match=refused):
            act("stop-hbase", primary)
        return
    assert act("stop-hbase", primary) == "no RegionServer is running, and no unit of HBase"
    assert [asked[2:] for asked in primary.asked] == [(), ("only-wait",)]


@pytest.mark.parametrize("node", ["core-1", "master-2"])
def test_a_node_that_does_not_answer_is_named(node: str, nodes: dict[str, CommandOutcome | None]) -> None:
    nodes[node] = None
    assert f"did not stop the units of {node}, which may start again" in act("stop-hbase", Primary([STOPPED, STOPPED]))


LOG: dict[str, Any] = {"down": True, "files": [], "directory": "hdfs:///wal"}


@pytest.mark.parametrize(
    ("step", "answer", "refused"),
    [
        ("check-log", LOG, None),
        ("check-log", LOG | {"files": ["a.1"]}, "is not empty: it holds a.1"),
        ("check-log", LOG | {"down": False}, "is running again after it was stopped"),
        ("find-exports", GOOD, None),
        ("find-exports", GOOD | {"missing": ["t"]}, "has no complete snapshot of t"),
        ("find-exports", GOOD | {"stale": ["t"]}, None),  # a table that is still written has newer files
        ("verify-exports", GOOD, None),
        ("verify-exports", GOOD | {"missing": ["t"]}, "has no complete snapshot of t"),
        ("verify-exports", GOOD | {"stale": ["t"]}, "the snapshots of t lack store files"),
        ("disable-tables", {"enabled": [], "tables": ["t"]}, None),
        ("disable-tables", {"enabled": ["t"], "tables": ["t"]}, "tables are still enabled: t"),
        ("disable-tables", {"down": True}, None),
    ],
)
def test_a_step_refuses_to_lose_data(step: str, answer: dict[str, Any], refused: str | None) -> None:
    if refused is None:
        assert act(step, Primary([answer]))
        return
    with pytest.raises(Refused, match=refused):
        act(step, Primary([answer]))
