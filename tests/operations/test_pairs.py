"""Every ordered pair of commands on a running cluster, with the first one killed or refused at each of its calls.

The first command is killed before a call, after it, or before it with its effect a little later, as a step goes on that
nobody waits for; or that call is refused. Then the second command runs, then the first again. Each error is followed as
its fix says. At the end no journal is left, and the balancer, regions, tables and volumes are as the commands promise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from inspect import getsource
from itertools import repeat
from typing import Any

import pytest
from msgspec import field

from tests.operations.boost_model import HOUR, LAUNCHED, RAISED, BoostModel, boosting, readings
from tests.operations.boost_model import end as end_boost
from tests.operations.deployed import Cut
from tests.operations.killable import META, SERVERS, HBaseModel, Killed
from tests.operations.test_table_changes import OLD, TABLES
from warmbase.cli import commands as cli_commands
from warmbase.configurations.launch import Launch
from warmbase.ground.errors import OperationFailed, WarmbaseError
from warmbase.ground.units import KIB
from warmbase.hfile.cache_index import CachedFile
from warmbase.operations.aws.progress import Say, Stage, carry_out
from warmbase.operations.cluster import boost as boost_module
from warmbase.operations.cluster.hbase_control import (
    META_TABLE,
    CacheContents,
    CacheReads,
    Families,
    HBaseState,
    LiveTables,
    Patience,
    Region,
    RegionMove,
    StoredRegion,
)
from warmbase.operations.cluster.journals import TableChange
from warmbase.operations.hbase import cache_heal, compaction_waves, rolling_restart, tables
from warmbase.operations.hbase.cache_heal import Heal
from warmbase.operations.hbase.compaction_waves import CompactionWaves
from warmbase.operations.hbase.rolling_restart import AvailableRestart, RollingRestart
from warmbase.operations.hbase.tables import TableChanges, table_proposal

MODES = ("before", "after", "late", "refused")
LOOKS_AWAY = 2
"""How often the state is read until a server that restarts is back, and until a late effect comes."""
TURNS = 30
WARMED = 1e9
"""The time of the compaction, in seconds since 1970."""
PATIENCE = Patience(elsewhere=-1.0)
FOLLOWED = 8
"""How many errors of a command are followed before its way out counts as none."""


class World(HBaseModel, dict=True):
    """A cluster of three servers with two tables, whose regions are cached where they were opened first.

    With `displaced`, the last server was away: its regions are open on the first one.
    """

    displaced: bool = False
    mode: str = "before"
    starts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SERVERS, 1))
    down: dict[str, int] = field(default_factory=dict)
    homes: dict[str, str | None] = field(default_factory=dict)
    lasts: dict[str, str] = field(default_factory=dict)
    caches: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, dict[str, dict[str, str]]] = field(
        default_factory=lambda: {table: {"cf": dict(OLD)} for table in TABLES}
    )
    opened: dict[str, dict[str, str]] = field(default_factory=dict)
    compacted: set[str] = field(default_factory=set)
    late: list[tuple[int, Callable[[], object]]] = field(default_factory=list)
    looks: int = 0
    most_down: int = 0
    is_gone: bool = False
    volumes: BoostModel = field(default_factory=BoostModel)
    stubborn: str = ""
    """The region that opens only with the attributes of the beginning."""

    def __post_init__(self) -> None:
        """Open two regions of each table on each server."""
        for server in SERVERS:
            for table in TABLES:
                name = f"{table}-{server[0]}"
                self.caches[name] = server
                self.homes[name] = SERVERS[0] if self.displaced and server == SERVERS[2] else server
                self.opened[name] = dict(OLD)
        self.homes[META] = SERVERS[0]
        self.lasts = {name: str(home) for name, home in self.homes.items()}

    def act(self, effect: Callable[[], object], *, looks: int = 0) -> None:
        """Do what a step does; if the command is killed there, perhaps after so many looks.

        EMR runs one step after another, so the effect of one comes before the next one reads or changes anything.
        """
        self.catch_up()
        if self.mode == "late" and self.calls + 1 == self.kill_at:
            self.late.append((self.looks + looks, effect))
        with self.call():
            effect()

    def catch_up(self) -> None:
        """Let the effects come that are due."""
        while self.late and self.late[0][0] <= self.looks:
            # Nobody waits for this step.
            with suppress(OperationFailed):
                self.late.pop(0)[1]()

    def look(self) -> None:
        """Let a little time pass."""
        self.looks += 1
        for server, looks in list(self.down.items()):
            self.down[server] = looks - 1
            if looks == 1:
                del self.down[server]
                self.starts[server] += 1
                for name, last in self.lasts.items():
                    if self.homes[name] is None and last == server:
                        self.open(name, server)
        self.catch_up()

    def open(self, name: str, server: str) -> None:
        attributes = {} if name == META else dict(self.attributes[name.partition("-")[0]]["cf"])
        if name == self.stubborn and attributes != OLD:
            self.homes[name] = None
            return
        self.homes[name] = server
        if name != META:
            self.opened[name] = attributes

    def split(self) -> None:
        """Split a region; its halves are open, and cached, where it is, and so they are not compacted."""
        name = f"{TABLES[0]}-c"
        for known in (self.homes, self.lasts, self.caches, self.opened):
            entries: dict[str, Any] = known
            entries |= dict.fromkeys((f"{name}1", f"{name}2"), entries.pop(name))
        self.compacted.discard(name)

    def add_server(self) -> None:
        self.starts["d:16020"] = 1

    def switch_on_by_hand(self) -> None:
        self.balancer = True

    def break_codec(self) -> None:
        """Let a region open no more with new attributes, unless it has them already for good."""
        table = TABLES[0]
        change = self.written.get(TableChange.OPERATION)
        if self.attributes[table]["cf"] == OLD or (
            isinstance(change, TableChange) and change.table == table and not change.reopened
        ):
            self.stubborn = f"{table}-b"

    def state(self, say: Say) -> HBaseState:
        del say
        self.look()
        with self.call():
            if self.is_gone:
                raise OperationFailed.of(where="cluster", what="is gone", why="it was torn down", fix="warmbase deploy")
            return HBaseState(
                servers={server: start for server, start in self.starts.items() if server not in self.down},
                regions={
                    name: Region(
                        table=META_TABLE if name == META else name.partition("-")[0],
                        server=home,
                        moved=name != META and home not in {None, self.lasts[name]},
                    )
                    for name, home in self.homes.items()
                },
                in_transition=0,
                balancer_is_on=self.balancer,
            )

    def switch_balancer(self, say: Say, *, on: bool) -> None:
        del say
        self.act(lambda: setattr(self, "balancer", on))

    def reopen(self, tables: Sequence[str], say: Say) -> None:
        def effect() -> None:
            for name, home in self.homes.items():
                table = META_TABLE if name == META else name.partition("-")[0]
                if table in tables and home is not None:
                    self.lasts[name] = home
                    self.open(name, home)

        del say
        self.act(effect)

    def unready(self, servers: Sequence[str], say: Say) -> Mapping[str, str]:
        del say, servers
        with self.call():
            return {}

    def lost_servers(self, servers: Iterable[str]) -> frozenset[str]:
        del servers
        with self.call():
            return frozenset()

    def stop(self, server: str) -> None:
        """Take a server away for two looks. A region that was moved opens on the server before that."""
        self.down[server] = LOOKS_AWAY
        for name, home in self.homes.items():
            if home == server:
                self.homes[name] = None
                last = self.lasts[name]
                if last != server and last not in self.down:
                    self.open(name, last)

    def stop_all(self) -> None:
        for server in self.starts:
            self.stop(server)

    def restart(self, server: str, say: Say) -> None:
        def effect() -> None:
            self.stop(server)
            self.most_down = max(self.most_down, len(self.down))

        del say
        assert not self.balancer, "a server restarts while the balancer is on"
        self.act(effect, looks=LOOKS_AWAY)

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        del since
        with self.call():
            return {server: CacheReads(hits=99, misses=1) for server in self.starts}

    def move(self, moves: Sequence[RegionMove], pause_seconds: float, say: Say) -> None:
        def effect() -> None:
            for move in moves:
                if move.region not in self.homes:
                    continue  # A step leaves out a region that has split.
                if move.target in self.down or self.homes[move.region] is None:
                    raise OperationFailed.of(
                        where=move.region,
                        what="was not moved",
                        why="a server is away",
                        fix="run the same command again",
                    )
                if self.homes[move.region] != move.target:
                    self.lasts[move.region] = str(self.homes[move.region])
                    self.open(move.region, move.target)

        del pause_seconds, say
        assert not self.balancer, "regions move while the balancer is on"
        self.act(effect)

    def region_files(self, say: Say) -> Mapping[str, Sequence[str]]:
        del say
        with self.call():
            return {name: [f"file-of-{name}"] for name in self.caches}

    def cache_contents(self, servers: Sequence[str], say: Say) -> Mapping[str, CacheContents]:
        del say
        with self.call():
            return {
                server: CacheContents(
                    age_seconds=1,
                    behind_seconds=0,
                    longest_seconds=60,
                    files={
                        f"file-of-{name}": CachedFile(blocks=128, size_bytes=128 * 64 * KIB)
                        for name, cache in self.caches.items()
                        if cache == server
                    },
                )
                for server in servers
            }

    def live_tables(self, say: Say) -> LiveTables:
        del say
        with self.call():
            return LiveTables(
                most_regions=3, tables={name: {"cf": dict(it["cf"])} for name, it in self.attributes.items()}
            )

    def change_table(self, table: str, families: Families, say: Say) -> None:
        del say
        self.act(lambda: self.attributes[table]["cf"].update(families["cf"]))

    def reopen_region(self, region: str, say: Say) -> None:
        def effect() -> None:
            if region not in self.homes:
                raise OperationFailed.of(where=region, what="is no region", why="it has split", fix="again")
            server = self.homes[region] or self.lasts[region]
            if server in self.down:
                self.homes[region] = None
                raise OperationFailed.of(where=region, what="is not open", why="its server is away", fix="again")
            self.lasts[region] = server
            self.open(region, server)
            if self.homes[region] is None:
                raise OperationFailed.of(where=region, what="is not open", why="its codec is missing", fix="again")

        del say
        self.act(effect)

    def stored_regions(self, say: Say) -> Mapping[str, StoredRegion]:
        del say
        with self.call():
            return {
                name: StoredRegion(
                    table=name.partition("-")[0],
                    server=str(self.homes[name]),
                    files=2,
                    stored_bytes=100,
                    compacted_at=WARMED if name in self.compacted else 0.0,
                )
                for name in self.caches
                if self.homes[name] is not None
            }

    def compact(self, regions: Sequence[str], say: Say) -> None:
        del say
        self.act(lambda: self.compacted.update(self.caches.keys() & set(regions)))


def restarted(world: World, kind: type[RollingRestart]) -> Iterable[Stage]:
    restart = kind(hbase=world, journals=world.journals, patience=PATIENCE)
    restart.check(world.state(print), print)
    return restart.stages(world.state(print))


def healed(world: World, launch: Launch) -> Iterable[Stage]:
    del launch
    heal = Heal(hbase=world, journals=world.journals, patience=PATIENCE)
    proposal = heal.propose(print)
    return heal.stages(proposal) if proposal.has_work else ()


def changed(world: World, launch: Launch) -> Iterable[Stage]:
    changes = TableChanges(hbase=world, journal=world.journals.table, patience=PATIENCE)
    return changes.stages(table_proposal(changes, launch, (), print).changes)


def compacted(world: World, launch: Launch) -> Iterable[Stage]:
    del launch
    waves = CompactionWaves(hbase=world, tables=frozenset(), before=WARMED, floor=0.9, patience=PATIENCE)
    waves.proposal(world.journals, print)
    waves.check()
    return waves.stages()


def abandoned(world: World, launch: Launch) -> Iterable[Stage]:
    del launch
    if world.journals.restart.read() is None:
        return ()
    return RollingRestart(hbase=world, journals=world.journals).abandonment()


def abandoned_heal(world: World, launch: Launch) -> Iterable[Stage]:
    del launch
    return Heal(hbase=world, journals=world.journals).abandonment() if world.journals.heal.read() else ()


def boosted(world: World, launch: Launch) -> Iterable[Stage]:
    del launch
    command = boosting(world.volumes)
    command.check(world.volumes.state())
    return command.stages()


def boost_ended(world: World, launch: Launch) -> Iterable[Stage]:
    del launch
    end_boost(world.volumes)
    return ()


def reconfigured(world: World, launch: Launch) -> Iterable[Stage]:
    """EMR restarts the daemons of a group itself."""
    del launch

    def apply(_: Say) -> str:
        world.act(world.stop_all)
        return ""

    yield Stage(title="apply settings", act=apply)


def torn_down(world: World, launch: Launch) -> Iterable[Stage]:
    del launch

    def end(_: Say) -> str:
        world.act(lambda: setattr(world, "is_gone", True))
        return ""

    yield Stage(title="end the cluster", act=end)


def untouched(world: World, launch: Launch) -> Iterable[Stage]:
    """Read only, as the deployment of an unchanged stack or the removal of a lock."""
    del launch
    yield Stage(title="read", act=lambda _: str(world.state(print).closed))


COMMANDS: Mapping[str, Callable[[World, Launch], Iterable[Stage]]] = {
    "restart ENV --rolling": lambda world, _: restarted(world, RollingRestart),
    "restart ENV --rolling --available": lambda world, _: restarted(world, AvailableRestart),
    "restart ENV --rolling --abandon": abandoned,
    "heal ENV": healed,
    "heal ENV --abandon": abandoned_heal,
    "tables ENV": changed,
    "compact ENV": compacted,
    "warm boost ENV": boosted,
    "warm boost ENV --end": boost_ended,
    "reconfigure ENV": reconfigured,
    "deploy ENV": untouched,
    "teardown ENV": torn_down,
    "unlock ENV": untouched,
}
NAMED = re.compile(rf"warmbase ({'|'.join(re.escape(name) for name in sorted(COMMANDS, key=len, reverse=True))})")
FIXES: Counter[str] = Counter()


def follow(world: World, command: str, launch: Launch, depth: int = 0) -> str | None:
    """Run a command, and do what its errors say; return the last error if that does not end."""
    text = ""
    for _ in range(FOLLOWED):
        try:
            carry_out(COMMANDS[command](world, launch), Cut())
        except WarmbaseError as error:
            if world.is_gone:
                return None
            text = str(error)
            for _ in range(2 * LOOKS_AWAY):
                world.look()
            world.volumes.advance(25 * HOUR if "again after" in text else HOUR)
            if world.stubborn and command == "tables ENV" and "has its old attributes again" in text:
                return None
            named = NAMED.search(error.problems[0].fix)
            FIXES[named[1] if named else "again"] += 1
            if named and named[1] != command:
                failure = follow(world, named[1], launch, depth + 1) if depth < 2 else text
                if failure:
                    return failure
            elif "again" not in error.problems[0].fix and not named:
                return text
        else:
            return None
    return text


def faults(world: World, first: str, second: str, launch: Launch, *, balancer: bool) -> Iterator[str]:
    """Yield what is not as the two commands promise."""
    if world.is_gone:
        return
    for _ in range(2 * LOOKS_AWAY):
        world.look()
    pair = {first, second}
    if world.written:
        yield f"journals are left: {list(world.written)}"
    if world.balancer != balancer:
        yield f"the balancer is {world.balancer}"
    if None in world.homes.values():
        yield "a region is closed"
    if world.most_down > 1:
        yield "two servers restarted at once"
    if "heal ENV" in pair and any(world.homes[name] != cache for name, cache in world.caches.items()):
        yield "regions are away from their caches"
    if any(world.opened[name] != world.attributes[name.partition("-")[0]]["cf"] for name in world.caches):
        yield "regions have other attributes than their table"
    if world.state(print).moved_tables:
        yield "regions would open elsewhere after a restart of their server"
    if "tables ENV" in pair and not world.stubborn and list(changed(world, launch)):
        yield "tables differ from the plan"
    if "compact ENV" in pair and world.compacted != world.caches.keys():
        yield "regions are not compacted"
    last = [command for command in (second, first) if command.startswith("warm boost")][-1:]
    if last and set(world.volumes.volumes.values()) != {LAUNCHED if "--end" in last[0] else RAISED}:
        yield f"the volumes are {world.volumes.volumes}"
    world.volumes.advance(72 * HOUR)
    if set(world.volumes.volumes.values()) != {LAUNCHED} or world.volumes.schedules:
        yield "a volume stays raised, or a schedule is left"


EVENTS: Mapping[str, Callable[[World], None]] = {
    "nothing": lambda _: None,
    "a region splits": World.split,
    "a server is added": World.add_server,
    "the balancer is switched on by hand": World.switch_on_by_hand,
    "a region cannot open with new attributes": World.break_codec,
}
"""The events of which one happens after the first command was killed."""


def trials(first: str, second: str, launch: Launch, step: int, event: str = "nothing") -> Iterator[tuple[str, str]]:
    """Yield the place and fault of each trial that ends badly; `step` leaves out places between two that are tried."""
    place = 1 + (sum(map(ord, first + second)) % step if step > 1 else 0)
    while True:
        is_over = False
        for mode in MODES:
            balancer = place % 3 > 0
            world = World(displaced="heal" in first + second, mode=mode, balancer=balancer)
            if "--end" in first + second:
                carry_out(boosted(world, launch), Cut())
                world.volumes.advance(HOUR)
            world.calls = world.volumes.calls = 0
            world.kill_at = world.volumes.kill_at = place
            world.refuse = world.volumes.refuse = mode == "refused"
            world.kill_before = world.volumes.kill_before = mode != "after"
            try:
                carry_out(COMMANDS[first](world, launch), Cut())
            except Killed:
                pass
            except WarmbaseError:
                is_over = mode != "refused" or max(world.calls, world.volumes.calls) < place
            else:
                is_over = max(world.calls, world.volumes.calls) < place
            world.refuse = world.volumes.refuse = False
            world.kill_at = world.volumes.kill_at = None
            TRIALS[first] += 1
            EVENTS[event](world)
            balancer = balancer or event == "the balancer is switched on by hand"
            for command in (second, first):
                failure = follow(world, command, launch)
                if failure:
                    yield f"{first} killed {mode} call {place}, then {second}", f"{command} has no way out: {failure}"
                    break
            else:
                for fault in faults(world, first, second, launch, balancer=balancer):
                    yield f"{first} killed {mode} call {place}, then {second}", fault
        if is_over:
            return
        place += step


TRIALS: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rolling_restart, cache_heal, tables, compaction_waves):
        monkeypatch.setattr(module, "turns", lambda *_: repeat(None, TURNS))
    monkeypatch.setattr(boost_module, "turns", readings)


@pytest.fixture(scope="module", autouse=True)
def _report(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print how many pairs were tried, unless this is a worker process, which has no terminal."""
    yield
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"\n{TRIALS.total()} pairs: {dict(TRIALS)}; fixes followed: {dict(FIXES)}")


STEP = 5
EVENT_STEP = 3
"""So many times fewer places are tried for an event."""
"""The places of each pair from one that `make test` tries to the next."""


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("first", COMMANDS)
@pytest.mark.parametrize("step", [STEP, pytest.param(1, marks=pytest.mark.thorough)], ids=["some places", "all places"])
def test_wherever_a_command_is_killed_another_one_and_then_itself_end_well(
    first: str, step: int, event: str, launches: Callable[[str], Launch]
) -> None:
    step *= 1 if event == "nothing" else EVENT_STEP
    bad = [fault for second in COMMANDS for fault in trials(first, second, launches("prod"), step, event)]
    assert not bad, f"{len(bad)}, first {bad[0]}"


AMONG_OPERATORS = {"canary", "claim", "destroy", "pin"}
"""Commands that do nothing on the nodes of a running cluster; the interleavings of two operators have them."""


def test_every_command_that_changes_something_is_in_a_pair_or_among_the_interleavings() -> None:
    """A command changes something if it holds the lock of the environment."""
    changing = {
        name
        for name in cli_commands.COMMANDS
        if re.search(r"environment_lock\(|\.carry_out\(", getsource(import_module(cli_commands.command_module(name))))
    }
    assert changing - {name.split()[0] for name in COMMANDS} == AMONG_OPERATORS
