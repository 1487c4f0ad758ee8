"""A rolling restart: one server at a time, each home and warm before the next, wherever it is interrupted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from msgspec import field

from tests.operations.deployed import Cut
from tests.operations.killable import META, SERVERS, HBaseModel, Killed
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.hfile.cache_index import CachedFile
from warmbase.operations.aws.progress import Say, Stage, carry_out
from warmbase.operations.cluster.hbase_control import (
    META_TABLE,
    CacheContents,
    CacheReads,
    HBaseState,
    Patience,
    Region,
    RegionMove,
)
from warmbase.operations.cluster.journals import HealJournal, RestartJournal, TableChange
from warmbase.operations.hbase.rolling_restart import RollingRestart

QUICK = Patience(before=60, home=0.3, elsewhere=0.02, warm=0.05, poll=0.002)


class Model(HBaseModel, dict=True):
    """An HBase of three servers with two regions each. A server that restarts is away for two looks."""

    starts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SERVERS, 1))
    homes: dict[str, str | None] = field(default_factory=dict)
    lasts: dict[str, str] = field(default_factory=dict)
    first_homes: dict[str, str] = field(default_factory=dict)
    down: dict[str, int] = field(default_factory=dict)
    restarts: list[str] = field(default_factory=list)
    lose_cache: str | None = None
    lose_regions: str | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    most_down: int = 0
    away: int = 2
    replaced: frozenset[str] = frozenset()
    late: dict[str, str] = field(default_factory=dict)
    looks_until_late: int = 0
    moves: list[str] = field(default_factory=list)
    stuck: str | None = None
    blocks: int = 10
    """The blocks of each region in the cache of its first server; a heal moves no region for ten."""
    busy: int = 0
    """The looks for which a region is in transition."""
    wanders: str | None = None
    """The region that moves again each time its table has been reopened."""

    def __post_init__(self) -> None:
        """Put hbase:meta on the first server."""
        for number, server in enumerate(SERVERS):
            for region in (f"r{number}0", f"r{number}1"):
                self.homes[region] = server
        self.homes[META] = SERVERS[0]
        self.lasts = {region: str(server) for region, server in self.homes.items()}
        self.first_homes = dict(self.lasts)

    def state(self, say: Say) -> HBaseState:
        del say
        with self.call():
            self._pass_time()
            table = {META: META_TABLE}
            return HBaseState(
                servers={server: start for server, start in self.starts.items() if server not in self.down},
                regions={
                    name: Region(
                        table=table.get(name, "orders"),
                        server=home,
                        moved=name != META and home not in {None, self.lasts[name]},
                    )
                    for name, home in self.homes.items()
                },
                in_transition=int(self.busy > 0),
                balancer_is_on=self.balancer,
            )

    def _pass_time(self) -> None:
        self.busy -= 1
        self.looks_until_late -= 1
        if self.looks_until_late == 0:
            self.homes |= self.late
        for server, looks in list(self.down.items()):
            self.down[server] = looks - 1
            if looks == 1:
                del self.down[server]
                self.starts[server] += 1
                for region, last in self.lasts.items():
                    if self.homes[region] is None and server in {last, self.lose_regions}:
                        self.homes[region] = "b:16020" if self.lose_regions == server else server

    def reopen(self, tables: Sequence[str], say: Say) -> None:
        del say, tables
        with self.call():
            assert not self.balancer
            self.lasts = {region: str(home) for region, home in self.homes.items()}
            if self.wanders:
                self.lasts[self.wanders] = "c:16020"

    def unready(self, servers: Sequence[str], say: Say) -> Mapping[str, str]:
        del say
        with self.call():
            return {server: self.reasons[server] for server in servers if server in self.reasons}

    def lost_servers(self, servers: Iterable[str]) -> frozenset[str]:
        with self.call():
            return frozenset(servers) & self.replaced

    def replace_node(self, server: str, looks: int = 0) -> None:
        """End the node of a server as EMR does: another one comes with another name, and others open its regions.

        They open after so many looks.
        """
        self.replaced |= {server}
        self.down.pop(server, None)
        del self.starts[server]
        self.starts["d:16020"] = 1
        others = sorted(self.starts.keys() - self.down.keys())
        for number, region in enumerate(sorted(self.homes)):
            if self.homes[region] == server or (self.homes[region] is None and self.lasts[region] == server):
                self.late[region] = others[number % len(others)]
                self.homes[region] = None
        self.looks_until_late = looks
        if not looks:
            self.homes |= self.late

    def restart(self, server: str, say: Say) -> None:
        del say
        with self.call():
            assert server in self.starts
            assert not self.balancer
            self.restarts.append(server)
            self.down[server] = self.away
            self.most_down = max(self.most_down, len(self.down))
            for region, home in self.homes.items():
                if home == server:
                    self.homes[region] = None

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        del since
        with self.call():
            lost = self.lose_cache if self.restarts else None
            return {server: CacheReads(hits=40 if server == lost else 99, misses=1) for server in self.starts}

    def move(self, moves: Sequence[RegionMove], pause_seconds: float, say: Say) -> None:
        del pause_seconds, say
        with self.call():
            assert not self.balancer
            for move in moves:
                if move.region == self.stuck:
                    raise OperationFailed.of(where=move.region, what="is not open", why="it is stuck", fix="wait")
                self.moves.append(f"{move.region} {move.source} {move.target}")
                assert self.homes[move.region] == move.source
                self.lasts[move.region], self.homes[move.region] = move.source, move.target
            homes = {self.first_homes[name] for name, server in self.homes.items() if server != self.first_homes[name]}
            assert len(homes) <= 1 or self.replaced, "regions of two servers are away"

    def region_files(self, say: Say) -> Mapping[str, Sequence[str]]:
        del say
        return {name: [f"file-of-{name}"] for name in self.homes if name != META}

    def cache_contents(self, servers: Sequence[str], say: Say) -> Mapping[str, CacheContents]:
        del say
        caches = {
            server: [f"file-of-{name}" for name, home in self.first_homes.items() if home == server]
            for server in servers
        }
        return {
            server: CacheContents(
                age_seconds=1,
                behind_seconds=0,
                longest_seconds=60,
                files={
                    name: CachedFile(blocks=self.blocks, size_bytes=100 * self.blocks)
                    for name in [*names, "compacted-away"]
                },
            )
            for server, names in caches.items()
        }


def run(model: Model) -> list[str]:
    """Restart all servers as a new command would, and return what it says."""
    restart, progress = RollingRestart(hbase=model, journals=model.journals, patience=QUICK), Cut()
    carry_out(restart.stages(model.state(print)), progress)
    return [*progress.titles, *progress.said]


def test_each_server_restarts_once_and_the_one_with_meta_last() -> None:
    model = Model()
    lines = run(model)
    assert model.restarts == ["b:16020", "c:16020", "a:16020"]
    assert model.most_down == 1
    assert model.balancer
    assert model.journal is None
    assert "the balancer is on again" in lines
    assert any(line.startswith("2 of 2 regions at home, hit ratio 99 % (before: 99 %)") for line in lines)


def test_a_balancer_that_was_off_stays_off() -> None:
    model = Model(balancer=False)
    assert "the balancer stays off, as it was before" in run(model)
    assert not model.balancer


def test_tables_with_moved_regions_are_reopened_first() -> None:
    model = Model()
    model.lasts["r10"] = "c:16020"
    assert "reopen orders in place" in run(model)
    assert model.lasts["r10"] == "b:16020"
    assert model.homes["r10"] == "b:16020"


def test_without_reopening_a_moved_region_would_not_return() -> None:
    """The model has the fault that the reopening is there for."""
    model = Model(balancer=False)
    model.lasts["r10"] = "c:16020"
    model.restart("b:16020", print)
    for _ in range(4):
        state = model.state(print)
    assert state.regions["r10"].server is None


def uninterrupted_calls() -> int:
    model = Model()
    model.lasts["r10"] = "c:16020"
    run(model)
    return model.calls


@pytest.mark.parametrize("before", [True, False], ids=["before the call", "after the call"])
def test_wherever_it_is_killed_the_same_command_finishes(before: bool) -> None:  # noqa: FBT001
    for place in range(2, uninterrupted_calls() + 1):
        model = Model(kill_at=place, kill_before=before)
        model.lasts["r10"] = "c:16020"
        with pytest.raises(Killed):
            run(model)
        run(model)
        assert model.most_down == 1, place
        assert model.balancer, place
        assert model.journal is None, place
        assert set(model.restarts) == set(SERVERS), place
        # Once the journal is cleared the restart has ended, and the second command is another one.
        has_ended = place == uninterrupted_calls() and not before
        assert len(model.restarts) == len(SERVERS) * (2 if has_ended else 1), place


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_whose_node_emr_replaces_meanwhile_is_skipped(server: str) -> None:
    for place in range(2, uninterrupted_calls()):
        model = Model(kill_at=place)
        model.lasts["r10"] = "c:16020"
        with pytest.raises(Killed):
            run(model)
        began = model.journal is not None
        model.replace_node(server)
        lines = run(model)
        assert model.most_down == 1, place
        assert model.balancer, place
        assert model.journal is None, place
        assert (f"skipped, because EMR has terminated the node: {server}" in lines) == began, place
        assert set(SERVERS) - {server} <= set(model.restarts), place
        assert all(model.lasts[region] == home for region, home in model.homes.items() if region != META), place


def test_regions_that_open_elsewhere_late_are_reopened_before_the_next_server_restarts() -> None:
    model = Model(away=3)
    with pytest.raises(Killed):
        carry_out(first_restart(model), Cut())
    assert model.down == {"b:16020": 3}
    model.replace_node("c:16020", looks=2)
    run(model)
    assert model.restarts == ["b:16020", "a:16020"]
    assert all(model.lasts[region] == home for region, home in model.homes.items() if region != META)


def first_restart(model: Model) -> Iterator[Stage]:
    """Yield the stages until the first server has been told to restart."""
    stages = RollingRestart(hbase=model, journals=model.journals, patience=QUICK).stages(model.state(print))
    yield next(stages)

    def killed(_: Say) -> str:
        model.restart("b:16020", print)
        raise Killed

    yield Stage(title="killed", act=killed)


def test_a_cache_that_was_lost_stops_the_restart_at_that_server() -> None:
    model = Model(lose_cache="b:16020")
    with pytest.raises(OperationFailed, match=r"b:16020  hits 97.6 % of its reads; before the restart .* 99 %"):
        run(model)
    assert model.restarts == ["b:16020"]
    assert not model.balancer
    model.lose_cache = None
    run(model)
    assert model.restarts == ["b:16020", "c:16020", "a:16020"]


def test_regions_that_open_elsewhere_stop_the_restart_and_the_way_back_is_named() -> None:
    model = Model(lose_regions="c:16020")
    with pytest.raises(OperationFailed, match=r"c:16020  did not get back 2 of its regions\n.*\n.*warmbase heal ENV"):
        run(model)
    assert model.restarts == ["b:16020", "c:16020"]


def test_a_server_that_stays_away_stops_the_restart() -> None:
    model = Model(away=10**6)
    with pytest.raises(OperationFailed, match="b:16020  is not back after 0 minutes: 2 servers, 2 regions not at home"):
        run(model)
    assert model.restarts == ["b:16020"]


def test_a_cold_minute_does_not_count_against_the_warm_one_after_it() -> None:
    model = Model()
    ratios, begun = [0.99, 0.5, 0.6, 0.985], list[float]()

    def cache_reads(since: float) -> Mapping[str, CacheReads]:
        begun.append(since)
        ratio = ratios[min(len(begun), len(ratios)) - 1]
        return {"b:16020": CacheReads(hits=1000 * ratio, misses=1000 * (1 - ratio) - 1)}

    model.cache_reads = cache_reads  # type: ignore[method-assign]
    stages = list(restarting(model).stages(model.state(print)))
    carry_out(stages[:2], said := Cut())
    assert said.said[-1].startswith("2 of 2 regions at home, hit ratio 98.6 % (before: 99.1 %)")
    assert begun[1] < begun[2] < begun[3]


@pytest.mark.parametrize(
    ("homes", "is_finished"),
    [({}, True), ({"r10": "c:16020"}, False), ({"r10": None}, False), ({"r10": ""}, True)],
    ids=["all at home", "one elsewhere", "one closed", "one split"],
)
def test_a_server_has_finished_once_its_regions_that_exist_are_at_home(
    homes: dict[str, str | None], *, is_finished: bool
) -> None:
    model = Model()
    starts = {**model.starts, "b:16020": 0}
    journal = RestartJournal(balancer_was_on=True, starts=starts, hit_ratios={}, homes=model.first_homes)
    model.homes = {name: home for name, home in {**model.homes, **homes}.items() if home != ""}
    state = model.state(print)
    assert journal.finished("b:16020", state) == is_finished
    assert not journal.finished("c:16020", state), "it has not restarted"


@pytest.mark.parametrize("balancer", [True, False])
def test_a_restart_takes_the_place_of_a_heal_that_was_interrupted(*, balancer: bool) -> None:
    model = Model(balancer=False)
    model.interrupt(HealJournal(balancer_was_on=balancer))
    run(model)
    assert model.written == {}
    assert model.balancer == balancer


def test_no_server_restarts_while_a_table_may_have_attributes_that_it_does_not_open_with() -> None:
    model = Model()
    model.interrupt(TableChange(table="orders", before={}, wanted={}))
    with pytest.raises(Refused, match="orders  has a change that was interrupted"):
        run(model)


def test_a_server_that_has_not_stopped_yet_is_not_back() -> None:
    """Until it stops, it is live and warm, and has all its regions."""
    model = Model()
    homes = {region: str(home) for region, home in model.homes.items()}
    journal = RestartJournal(balancer_was_on=True, starts=model.starts.copy(), hit_ratios={}, homes=homes)
    with pytest.raises(OperationFailed, match="b:16020  is not back after 0 minutes: 3 servers, 0 regions not at home"):
        restarting(model)._gate("b:16020", journal, print)


@pytest.mark.parametrize(("blocks", "is_refused"), [(10, False), (1000, True)])
def test_a_region_that_was_moved_meanwhile_is_at_home_there_unless_a_heal_would_move_it(
    blocks: int,
    is_refused: bool,  # noqa: FBT001
) -> None:
    model = Model(lose_cache="b:16020", blocks=blocks)
    with pytest.raises(OperationFailed, match="hits"):
        run(model)
    model.lose_cache = None
    model.homes["r20"] = model.lasts["r20"] = "b:16020"
    if is_refused:
        with pytest.raises(OperationFailed, match=r"c:16020  does not have 1 of its regions\n.*r20 on b:16020"):
            run(model)
        assert model.restarts == ["b:16020"]
        model.homes["r20"] = model.lasts["r20"] = "c:16020"
    run(model)
    assert model.restarts == ["b:16020", "c:16020", "a:16020"]
    assert model.homes["r20"] == ("c:16020" if is_refused else "b:16020")


def restarting(model: Model) -> RollingRestart:
    return RollingRestart(hbase=model, journals=model.journals, patience=QUICK)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"down": {"c:16020": 10**6}}, r"c:16020  is not among the live RegionServers\n.*two servers would be down"),
        ({"busy": 10**6}, "is not quiet: 1 regions are in transition"),
        ({"late": {}, "homes": dict.fromkeys(["r10"])}, "is not quiet: 1 regions of enabled tables are not open"),
    ],
)
def test_no_server_restarts_while_another_one_is_down_or_a_region_is_not_open(
    change: dict[str, Any], match: str
) -> None:
    """The regions of a server that is down may be open elsewhere already."""
    model = Model(balancer=False)
    model.interrupt(RestartJournal(balancer_was_on=True, starts=model.starts.copy(), hit_ratios={}, homes={}))
    for name, value in change.items():
        setattr(model, name, {**getattr(model, name), **value} if isinstance(value, dict) else value)
    with pytest.raises(Refused, match=match):
        restarting(model)._restart("b:16020", print)
    assert model.restarts == []


def test_a_balancer_that_somebody_switches_on_meanwhile_is_off_when_a_server_restarts() -> None:
    model = Model()
    for stage in restarting(model).stages(model.state(print)):
        carry_out([stage], Cut())
        model.balancer = True
    assert len(model.restarts) == len(SERVERS)


def test_tables_whose_regions_move_again_stop_the_restart_before_the_first_server() -> None:
    model = Model(wanders="r10")
    model.lasts["r10"] = "c:16020"
    with pytest.raises(OperationFailed, match=r"orders  has regions that would not return to their server"):
        run(model)
    assert model.restarts == []


@pytest.mark.parametrize("where", [None, "c:16020"], ids=["closed", "elsewhere"])
@pytest.mark.parametrize(("busy", "late"), [(30, 0), (0, 30), (30, 30)])
def test_a_server_is_back_once_every_region_is_open_and_none_in_transition(
    where: str | None, busy: int, late: int
) -> None:
    """A region that is elsewhere for long is given up only if the master has nothing left to do."""
    model = Model(busy=busy, late={"r10": "b:16020"}, looks_until_late=late)
    if late:
        model.homes["r10"] = where if busy else None
    homes = dict(model.first_homes) if busy else {}
    journal = RestartJournal(balancer_was_on=True, starts=model.starts.copy(), hit_ratios={}, homes=homes)
    state = restarting(model)._home(journal, print)
    assert (state.in_transition, state.closed, state.homes) == (0, 0, model.first_homes)


@pytest.mark.parametrize(("server", "is_refused"), [("b:16020", False), ("c:16020", True)])
def test_only_servers_that_have_not_restarted_must_be_ready_when_it_continues(
    server: str,
    is_refused: bool,  # noqa: FBT001
) -> None:
    model = Model(lose_cache="b:16020")
    with pytest.raises(OperationFailed, match="hits"):
        run(model)
    model.lose_cache, model.reasons = None, {server: "its index is 3 hours old"}
    if is_refused:
        with pytest.raises(Refused, match=f"{server}  would lose its cache"):
            run(model)
    else:
        run(model)
    assert model.restarts == (["b:16020"] if is_refused else ["b:16020", "c:16020", "a:16020"])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"homes": {"r10": None}}, "is not quiet: 1 regions of enabled tables are not open"),
        (
            {"reasons": {"b:16020": "its index is 3 hours old", "c:16020": "the same"}},
            r"b:16020  would lose its cache if it restarted now, as would 1 more\n.*3 hours",
        ),
    ],
)
def test_a_restart_of_a_cluster_that_is_not_ready_is_refused(
    change: dict[str, dict[str, str | None]], match: str
) -> None:
    model = Model()
    for name, values in change.items():
        getattr(model, name).update(values)
    with pytest.raises(Refused, match=match):
        run(model)
    assert model.restarts == []
    assert model.balancer
