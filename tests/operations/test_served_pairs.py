"""Pairs of commands on a served local AWS: the first is killed before a call that changes something, or runs a step.

Then the second command runs, and the first again, as in test_pairs.py, but with the steps, the programs on nodes and
the journals of the real clients. One pair of each command is tried; `PLACES=12 pytest` tries 12 places of all pairs.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import pytest

from tests.operations.deployed import Cut
from tests.operations.killable import Killed
from tests.operations.test_emr_hbase import CLUSTER, NODES, QUICK, Cluster, aws, cluster
from tests.operations.test_pairs import NAMED
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import WarmbaseError
from warmbase.operations.aws.clients import any_call, is_reading
from warmbase.operations.aws.progress import Stage, carry_out
from warmbase.operations.hbase.cache_heal import Heal
from warmbase.operations.hbase.compaction_waves import CompactionWaves
from warmbase.operations.hbase.rolling_restart import AvailableRestart, RollingRestart
from warmbase.operations.hbase.tables import TableChanges, table_proposal

__all__ = ("aws", "cluster")

ENVIRONMENT = read_environment("prod")
LAUNCH = launch_of(ENVIRONMENT, ENVIRONMENT.active)
PLACES = int(os.environ.get("PLACES", "0"))
FOLLOWED = 8
BEGAN = time.time()


def restarted(cluster: Cluster, kind: type[RollingRestart]) -> Iterable[Stage]:
    restart = kind(hbase=cluster.hbase, journals=cluster.journals, patience=QUICK)
    restart.check(cluster.state, print)
    return restart.stages(cluster.state)


def healed(cluster: Cluster) -> Iterable[Stage]:
    heal = Heal(hbase=cluster.hbase, journals=cluster.journals, patience=QUICK)
    proposal = heal.propose(print)
    return heal.stages(proposal) if proposal.has_work else ()


def changed(cluster: Cluster) -> Iterable[Stage]:
    tables = TableChanges(hbase=cluster.hbase, journal=cluster.journals.table, patience=QUICK)
    return tables.stages(table_proposal(tables, LAUNCH, (), print).changes)


def compacted(cluster: Cluster) -> Iterable[Stage]:
    waves = CompactionWaves(hbase=cluster.hbase, tables=frozenset(), before=BEGAN, floor=0.9, patience=QUICK)
    return waves.stages() if waves.proposal(cluster.journals, print) else ()


COMMANDS: Mapping[str, Callable[[Cluster], Iterable[Stage]]] = {
    "restart ENV --rolling": lambda cluster: restarted(cluster, RollingRestart),
    "restart ENV --rolling --available": lambda cluster: restarted(cluster, AvailableRestart),
    "heal ENV": healed,
    "tables ENV": changed,
    "compact ENV": compacted,
}
NAMES = list(COMMANDS)
PAIRS = (
    [(first, second) for first in NAMES for second in NAMES]
    if PLACES
    else list(zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True))
)
CALLS: dict[tuple[str, str], int] = {}
"""The number of changing calls of each command that is not killed, in each state of HBase."""
TRIALS: Counter[str] = Counter()


def run(cluster: Cluster, command: str, kill_at: int | None = None) -> int:
    """Run a command, which is killed before so many changing calls; return how many it made."""
    calls = 0

    def count(operation: str) -> None:
        nonlocal calls
        if not is_reading(operation):
            calls += 1
            if calls == kill_at:
                raise Killed

    cluster.aws.gate = count
    try:
        carry_out(COMMANDS[command](cluster), Cut())
    finally:
        cluster.aws.gate = any_call
    return calls


def follow(cluster: Cluster, command: str) -> None:
    """Run a command, and do what its errors say until it ends."""
    for _ in range(FOLLOWED):
        try:
            run(cluster, command)
        except WarmbaseError as error:
            fix = error.problems[0].fix
            named = NAMED.search(fix)
            if not named and "again" not in fix:
                raise AssertionError(f"{command} names no way") from error
            time.sleep(1.0)
            if named and named[1] in COMMANDS and named[1] != command:
                follow(cluster, named[1])
        else:
            return
    raise AssertionError(f"{command} does not end")


@pytest.fixture(scope="module", autouse=True)
def _report(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print how many pairs were tried, unless this is a worker process, which has no terminal."""
    yield
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"\n{TRIALS.total()} pairs on a local AWS: {dict(TRIALS)}")


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(PLACES or 1))
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_killed_command_another_one_and_itself_again_end_well(
    cluster: Cluster, first: str, second: str, number: int
) -> None:
    state = "away" if "heal" in first + second else "whole"
    cluster.be(state)
    if (first, state) not in CALLS:
        other = Cluster(cluster.aws, cluster.aws.emr.run_job_flow(**CLUSTER)["JobFlowId"])
        other.be(state)
        CALLS[first, state] = run(other, first)
    # The places of a pair lie evenly over its command, and those of the next pair between them.
    order = NAMES.index(second) + len(NAMES) * number
    place = 1 + order * CALLS[first, state] // (len(NAMES) * (PLACES or 1))
    before = cluster.state
    with pytest.raises(Killed):
        run(cluster, first, place)
    TRIALS[first] += 1
    follow(cluster, second)
    follow(cluster, first)
    after = cluster.state
    assert after.balancer_is_on
    assert not after.closed
    assert after.moved_tables == ()
    assert len(after.servers) == NODES
    journals = cluster.journals
    assert (journals.restart.read(), journals.heal.read(), journals.table.read()) == (None, None, None)
    assert after.homes == before.homes or "heal ENV" in {first, second}
    for command in {first, second} & {"heal ENV", "tables ENV", "compact ENV"}:
        assert list(COMMANDS[command](cluster)) == [], f"{command} has something left to do"
