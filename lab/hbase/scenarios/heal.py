"""A killed server returns after its regions went elsewhere: `warmbase heal` beside HBase's own balancer, under load."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec.structs import replace

from lab.hbase.cluster import LabServer
from lab.hbase.configuration import PERSIST_INTERVAL_MS, varied
from lab.hbase.control import AFTER_SECONDS, LabControl, memory_journals, prefetch, roomy, steady_cluster
from lab.hbase.experiment import SAME, Experiment, ScenarioResult, at_least, at_most, over_time
from lab.hbase.result import Measurement
from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.progress import turns
from warmbase.operations.cluster.hbase_control import META_TABLE, HBaseState, Patience
from warmbase.operations.hbase.cache_heal import Heal

TITLE: Final = "Regions that return to their caches"
QUESTION: Final = "After a server was killed and has returned, which way brings its regions back to its cache?"
SERVERS: Final = 3
ROOM: Final = 1.4
ROOM_WHY: Final = "room for the regions of a lost server, so that two servers can hold all data"
OPENED_SECONDS: Final = 300.0
BALANCES: Final = 3
SETTLING_SECONDS: Final = 40.0
"""Time for the prefetch of regions that have been opened."""
RETAIN: Final = "hbase.master.scp.retain.assignment"
EXPIRED: Final = varied(
    {RETAIN: "false", f"{RETAIN}.force": "false"},
    "regions of the killed server are assigned at once, as if the master's wait were over",
)
HIT_RATIO: Final = 0.995
MORE_MOVES: Final = 1.1
PATIENCE: Final = Patience(opened=OPENED_SECONDS, poll=1.0)
HEAL: Final = "warmbase heal"
BALANCE: Final = "HBase's balancer"


def run(lab: Experiment) -> ScenarioResult:
    """Kill a server and let it return, twice; then bring its regions home, once by our stages and once by HBase."""
    lab = lab.filled()
    return ScenarioResult.joined(
        (_recorded(lab, HEAL, _heal), _recorded(lab, BALANCE, _balance)),
        (
            "The three servers share the cores of one machine, so regions open more slowly than on a cluster.",
            f"The caches are {ROOM} times as large as in the other scenarios, so that two servers can hold all data.",
            "With smaller caches, the two other servers evict blocks of their own, which they must read again.",
            "A prefetch had filled every cache, which is the case in which HBase's own map of cached regions is best.",
        ),
    )


def _recorded(lab: Experiment, case: str, way: Callable[[LabControl, Experiment], int]) -> ScenarioResult:
    """Bring the regions of a killed server home in this way, under steady reads, with caches that hold all data."""
    bench, heals = lab.bench, case == HEAL
    server = roomy(lab, ROOM, ROOM_WHY)
    prefetch(lab, server)
    bench.admin.switch_balancer(on=False)
    bench.cluster.restart_master(EXPIRED)
    with steady_cluster(lab) as steady:
        control, history, warm_at = steady.control, steady.history, steady.warm_at
        before, killed_at = _homes(control.state(bench.say), lab), steady.now
        _lose_and_return(control, lab, server)
        away_homes, began = _homes(control.state(bench.say), lab), steady.now
        moves = way(control, lab)
        ended = steady.now
        time.sleep(SETTLING_SECONDS)
        quiet_at = steady.now
        time.sleep(AFTER_SECONDS[lab.short])
        state = control.state(bench.say)
    until, homes = steady.now, _homes(state, lab)
    away = sum(away_homes.get(name) != home for name, home in before.items())
    moved = sum(region.moved for region in state.regions.values() if region.table == lab.table.name)
    figure = partial(Measurement, case=case)
    figures = (
        figure(
            name="regions at home afterwards",
            measured=float(sum(homes.get(name) == home for name, home in before.items())),
            predicted=float(len(before)) if heals else None,
            because=f"regions on the server whose cache was filled with their blocks; {away} were away",
            target=SAME if heals else None,
        ),
        figure(
            name="moves",
            measured=float(moves),
            predicted=float(away) if heals else None,
            because="the fewest possible: one for each region that is away",
            target=at_most(MORE_MOVES * away) if heals else None,
        ),
        figure(
            name="hit ratio afterwards",
            measured=history.hit_ratio(quiet_at, until),
            predicted=history.hit_ratio(warm_at, killed_at) if heals else None,
            because=f"all servers, {SETTLING_SECONDS:.0f} s after the last move; the prediction is the ratio before the"
            " kill",
            target=at_least(HIT_RATIO) if heals else None,
        ),
        figure(
            name="GETs of store files from the kill until the server was back",
            measured=float(history.gets(killed_at, began)),
            because="the other servers open its regions and prefetch them; counted in front of S3",
        ),
        figure(
            name="GETs of store files while the regions returned",
            measured=float(history.gets(began, ended)),
            because="for moves, and for regions that are reopened in place",
        ),
        figure(
            name="GETs of store files afterwards",
            measured=float(history.gets(ended, until)),
            because="by prefetch and reads, for blocks that the caches have lost meanwhile",
        ),
        figure(
            name="lowest hit ratio in 5 s, after the server was back",
            measured=min((ratio for _, ratio in history.hit_ratios(began, until)), default=0.0),
            because="all servers together",
        ),
        figure(
            name="failed reads",
            measured=float(steady.clients.failed),
            because="of all reads since shortly before the kill, each with eight retries",
        ),
        figure(
            name="regions that the next restart would lose",
            measured=float(moved),
            because="hbase:meta names two servers for them, and the master would assign them to the earlier one",
        ),
        figure(
            name="seconds",
            unit="s",
            measured=ended - began,
            because="all processes share the cores of one machine",
        ),
    )
    chart = over_time(
        f"Hit ratio since the kill: {case}",
        "share of block reads that hit, in 5 s",
        [("measured", history.hit_ratios(killed_at, until))],
    )
    return ScenarioResult(figures=figures, charts=(chart,))


def _homes(state: HBaseState, lab: Experiment) -> dict[str, str]:
    """Return the server of each region of the table."""
    return {name: server for name, server in state.homes.items() if state.regions[name].table == lab.table.name}


def _lose_and_return(control: LabControl, lab: Experiment, server: LabServer) -> None:
    """Kill a server without hbase:meta, wait until its regions are open elsewhere, and start it again."""
    bench, state = lab.bench, control.state(lab.bench.say)
    meta = next(region.server for region in state.regions.values() if region.table == META_TABLE)
    ports = bench.cluster.place.ports.servers
    number = next(number for number in bench.cluster.numbers if meta != f"localhost:{ports[number]}")
    name = f"localhost:{ports[number]}"
    bench.cluster.kill_server(number)
    _await(control, lambda now: name not in now.servers and name not in now.homes.values(), "regions to open elsewhere")
    bench.cluster.start_server(replace(server, number=number))
    _await(control, lambda now: name in now.servers, "the server to return")
    # Then every index is written after most blocks that the openings have brought into the caches.
    time.sleep(SETTLING_SECONDS + 2 * PERSIST_INTERVAL_MS / 1000)


def _await(control: LabControl, ready: Callable[[HBaseState], bool], what: str) -> None:
    for _ in turns(OPENED_SECONDS, 1.0, 1.0):
        state = control.state(lambda _: None)
        if ready(state) and not (state.closed or state.in_transition):
            return
    raise OperationFailed.of(
        where="HBase",
        what=f"was waited for in vain: {what}",
        why=f"{OPENED_SECONDS:.0f} s have passed",
        fix="read the master's log; then run the scenario again",
    )


def _heal(control: LabControl, lab: Experiment) -> int:
    say = lab.bench.say
    heal = Heal(hbase=control, journals=memory_journals(), patience=PATIENCE)
    proposal = heal.propose(say)
    say(
        f"  {len(proposal.moves)} moves bring {proposal.gained_bytes / 1e6:.0f} MB home, {proposal.gets_saved:,} blocks"
    )
    for stage in heal.stages(proposal):
        say(f"  {stage.title}: {stage.act(say)}")
    return len(proposal.moves)


def _balance(control: LabControl, lab: Experiment) -> int:
    """Run HBase's balancer three times, and return how many regions it has moved."""
    say, moves = lab.bench.say, 0
    control.switch_balancer(say, on=True)
    for _ in range(BALANCES):
        before = _homes(control.state(say), lab)
        control.admin.balance()
        _await(control, lambda _: True, "the balancer's moves to end")
        after = _homes(control.state(say), lab)
        count = sum(after[name] != server for name, server in before.items())
        say(f"  balance: {count} regions moved")
        moves += count
    control.switch_balancer(say, on=False)
    return moves
