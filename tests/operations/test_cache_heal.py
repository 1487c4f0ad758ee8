"""Regions move to the servers whose caches hold their blocks, wherever the command is interrupted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec import field
from msgspec.structs import replace

from tests.operations.deployed import Cut
from tests.operations.killable import META, SERVERS, HBaseModel, Killed
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.ground.units import KIB
from warmbase.hfile.cache_index import CachedFile
from warmbase.operations.aws.progress import Say, carry_out
from warmbase.operations.cluster.hbase_control import (
    META_TABLE,
    CacheContents,
    HBaseState,
    Patience,
    Region,
    RegionMove,
)
from warmbase.operations.cluster.journals import HealJournal, RestartJournal, TableChange
from warmbase.operations.hbase import cache_heal
from warmbase.operations.hbase.cache_heal import (
    LEAST_GETS,
    LONGEST_PAUSE_SECONDS,
    Heal,
    HealProposal,
    cached_name,
    moves_by_target,
)

QUICK = Patience(opened=0.05, poll=0.002)
BLOCKS = 100
BLOCK_BYTES = 64 * KIB


class HealModel(HBaseModel, dict=True):
    """An HBase of three servers. The last was away, and its four regions are open on the first."""

    caches: dict[str, str] = field(default_factory=dict)
    """The server whose cache has each region."""
    homes: dict[str, str] = field(default_factory=dict)
    lasts: dict[str, str] = field(default_factory=dict)
    blocks: int = BLOCKS
    behind: float = 0.0
    in_transition: int = 0
    moves: list[str] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    mischief: str | None = None
    closed: str | None = None
    wanders: str | None = None
    """The region that moves again each time its table has been reopened."""

    def __post_init__(self) -> None:
        """Put hbase:meta on the first server."""
        self.caches = {f"r{number:02}": SERVERS[number % 3] for number in range(12)}
        self.homes = {name: SERVERS[0] if home == SERVERS[2] else home for name, home in self.caches.items()}
        self.homes[META] = SERVERS[0]
        self.lasts = dict(self.homes)

    def state(self, say: Say) -> HBaseState:
        del say
        with self.call():
            return HBaseState(
                servers=dict.fromkeys(SERVERS, 1),
                regions={
                    name: Region(
                        table=META_TABLE if name == META else "orders",
                        server=None if name == self.closed else home,
                        moved=home != self.lasts[name],
                    )
                    for name, home in self.homes.items()
                },
                in_transition=self.in_transition,
                balancer_is_on=self.balancer,
            )

    def reopen(self, tables: Sequence[str], say: Say) -> None:
        del say
        with self.call():
            assert not self.balancer
            assert list(tables) == ["orders"]
            self.lasts = dict(self.homes)
            if self.wanders:
                self.lasts[self.wanders] = SERVERS[1]

    def region_files(self, say: Say) -> Mapping[str, Sequence[str]]:
        del say
        with self.call():
            return {name: [f"file-of-{name}", f"uncached-{name}"] for name in self.caches}

    def cache_contents(self, servers: Sequence[str], say: Say) -> Mapping[str, CacheContents]:
        del say
        with self.call():
            return {
                server: CacheContents(
                    age_seconds=5,
                    behind_seconds=self.behind,
                    longest_seconds=600,
                    files={
                        f"file-of-{name}": CachedFile(self.blocks, self.blocks * BLOCK_BYTES)
                        for name, home in self.caches.items()
                        if home == server
                    }
                    | {"archived": CachedFile(10, 10 * BLOCK_BYTES)},
                )
                for server in servers
            }

    def move(self, moves: Sequence[RegionMove], pause_seconds: float, say: Say) -> None:
        del say
        self.pauses += [pause_seconds] * len(moves)
        for move in moves:
            with self.call():
                assert not self.balancer
                assert self.homes[move.region] != move.target
                self.homes[move.region] = move.target
                self.moves.append(move.region)
        if self.mischief:
            self.homes[self.mischief] = SERVERS[1]


def proposal_of(model: HealModel) -> HealProposal:
    return Heal(hbase=model, journals=model.journals, patience=QUICK).propose(print)


def run(model: HealModel) -> list[str]:
    """Heal as a new command would, and return what it says."""
    heal, progress = Heal(hbase=model, journals=model.journals, patience=QUICK), Cut()
    proposal = heal.propose(print)
    if proposal.has_work:
        carry_out(heal.stages(proposal), progress)
    return [*progress.titles, *progress.said]


def user_regions(model: HealModel) -> dict[str, str]:
    return {name: home for name, home in model.homes.items() if name != META}


def test_every_region_comes_home_by_the_fewest_moves() -> None:
    model = HealModel()
    lines = run(model)
    assert user_regions(model) == model.caches
    assert len(model.moves) == 4
    assert model.lasts == model.homes
    assert model.balancer
    assert model.journal is None
    assert "move 4 regions, one after another" in lines
    assert "12 of 12 regions are where their blocks are" in lines
    assert "the balancer is on again" in lines


def test_the_proposal_counts_what_comes_home() -> None:
    proposal = proposal_of(HealModel())
    assert moves_by_target(proposal.moves) == {"c:16020": 4}
    assert proposal.gained_bytes == 4 * BLOCKS * BLOCK_BYTES
    assert proposal.gets_saved == 4 * BLOCKS
    assert (proposal.home_bytes, proposal.cached_bytes) == (8 * BLOCKS * BLOCK_BYTES, 12 * BLOCKS * BLOCK_BYTES)
    assert proposal.bound == 5


def test_a_healed_cluster_has_nothing_to_gain() -> None:
    model = HealModel()
    run(model)
    calls = len(model.moves)
    assert run(model) == []
    assert len(model.moves) == calls


@pytest.mark.parametrize(("blocks", "moves"), [(LEAST_GETS, 0), (LEAST_GETS + 1, 4)])
def test_a_move_must_save_more_gets_than_it_costs(blocks: int, moves: int) -> None:
    assert LEAST_GETS == 25
    assert len(proposal_of(HealModel(blocks=blocks)).moves) == moves


def test_a_balancer_that_was_off_stays_off() -> None:
    model = HealModel(balancer=False)
    assert "the balancer stays off, as it was before" in run(model)
    assert not model.balancer


def test_many_moves_are_made_in_several_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_heal, "MOVES_AT_A_TIME", 3)
    lines = run(HealModel())
    assert "move regions 1 to 3 of 4, one after another" in lines
    assert "move regions 4 to 4 of 4, one after another" in lines


@pytest.mark.parametrize(("pause_seconds", "moves"), [(0, 25), (60, 25), (120, 22), (LONGEST_PAUSE_SECONDS, 7)])
def test_slow_moves_with_their_pauses_fit_into_a_step(pause_seconds: float, moves: int) -> None:
    proposal = replace(proposal_of(HealModel()), pause_seconds=pause_seconds)
    assert proposal.moves_at_a_time == moves
    assert proposal.move_seconds == len(proposal.moves) * (5 + pause_seconds)


def uninterrupted_calls() -> int:
    model = HealModel()
    run(model)
    return model.calls


@pytest.mark.parametrize("before", [True, False], ids=["before the call", "after the call"])
def test_wherever_it_is_killed_the_same_command_finishes(before: bool) -> None:  # noqa: FBT001
    for place in range(1, uninterrupted_calls() + 1):
        model = HealModel(kill_at=place, kill_before=before)
        with pytest.raises(Killed):
            run(model)
        run(model)
        assert user_regions(model) == model.caches, place
        assert sorted(model.moves) == ["r02", "r05", "r08", "r11"], place
        assert model.lasts == model.homes, place
        assert model.balancer, place
        assert model.journal is None, place


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"behind": 601}, r"a:16020  may hold other blocks than its index says, .* for 601 s\n.*600 s"),
        ({"in_transition": 1}, "is not quiet: 1 regions are in transition"),
        ({"r00": "dead:16020"}, "dead:16020  has regions in hbase:meta, but is not among the live"),
    ],
)
def test_a_cluster_that_is_not_quiet_or_differs_from_its_indexes_is_refused(change: dict[str, Any], match: str) -> None:
    model = HealModel(**{name: value for name, value in change.items() if name != "r00"})
    model.homes["r00"] = change.get("r00", model.homes["r00"])
    with pytest.raises(Refused, match=match):
        proposal_of(model)


BEFORE_THE_MOVES, AFTER_THE_MOVES = (
    r"is not quiet: 1 region",
    r"orders  has regions that are not open, or would not return",
)


@pytest.mark.parametrize(
    ("stages", "match"),
    [
        pytest.param(0, BEFORE_THE_MOVES, id="at the start"),
        pytest.param(1, BEFORE_THE_MOVES, id="before the moves"),
        pytest.param(2, AFTER_THE_MOVES, id="before the tables are reopened"),
    ],
)
@pytest.mark.parametrize("change", [{"in_transition": 1}, {"closed": "r01"}, {"wanders": "r02"}])
def test_regions_that_are_not_open_or_would_not_return_stop_the_heal(
    stages: int, match: str, change: dict[str, Any]
) -> None:
    model = HealModel()
    all_stages = [*Heal(hbase=model, journals=model.journals, patience=QUICK).stages(proposal_of(model))]
    carry_out(all_stages[:stages], Cut())
    for name, value in change.items():
        setattr(model, name, value)
    with pytest.raises((Refused, OperationFailed), match=AFTER_THE_MOVES if "wanders" in change else match):
        carry_out(all_stages[stages:], Cut())
    assert len(model.moves) == (4 if stages == 2 or "wanders" in change else 0)
    assert model.balancer == (stages == 0 and "wanders" not in change), "a heal that is refused changes nothing"
    for name in change:
        setattr(model, name, getattr(HealModel(), name))
    run(model)
    assert user_regions(model) == model.caches
    assert model.balancer


def test_a_balancer_that_somebody_switches_on_meanwhile_is_off_when_regions_move() -> None:
    model = HealModel()
    for stage in Heal(hbase=model, journals=model.journals, patience=QUICK).stages(proposal_of(model)):
        # Between the last move and the reopening there is no time to switch it on.
        model.balancer = not stage.title.startswith("reopen")
        carry_out([stage], Cut())
    assert user_regions(model) == model.caches


def test_the_balancer_stays_off_until_the_restart_that_was_interrupted_has_ended() -> None:
    model = HealModel(balancer=False)
    model.interrupt(HealJournal(balancer_was_on=True))
    model.interrupt(RestartJournal(balancer_was_on=True, starts=dict.fromkeys(SERVERS, 1), hit_ratios={}, homes={}))
    assert "until the restart that was interrupted has ended: warmbase restart ENV --rolling" in run(model)[-1]
    assert not model.balancer
    assert isinstance(model.journal, RestartJournal)


def test_a_server_that_an_interrupted_restart_has_stopped_is_awaited() -> None:
    """Its cache may hold the blocks of any region, so the moves would be wrong."""
    model = HealModel()
    starts = dict.fromkeys([*SERVERS, "d:16020"], 1)
    model.interrupt(RestartJournal(balancer_was_on=True, starts=starts, hit_ratios={}, homes={}))
    with pytest.raises(Refused, match="d:16020  is not among the live RegionServers"):
        proposal_of(model)


def test_no_region_moves_while_a_table_may_have_attributes_that_it_does_not_open_with() -> None:
    model = HealModel()
    model.interrupt(TableChange(table="orders", before={}, wanted={}))
    with pytest.raises(Refused, match="orders  has a change that was interrupted"):
        proposal_of(model)


def test_a_region_that_was_moved_again_is_named() -> None:
    model = HealModel(mischief="r02")
    with pytest.raises(OperationFailed, match=r"r02  is not on c:16020\n"):
        run(model)
    assert model.journal == HealJournal(balancer_was_on=True)
    model.mischief = None
    run(model)
    assert user_regions(model) == model.caches
    assert model.balancer


def test_a_split_region_is_left_out() -> None:
    model = HealModel()
    heal, lines = Heal(hbase=model, journals=model.journals, patience=QUICK), Cut()
    proposal = heal.propose(print)
    del model.homes["r02"]
    carry_out(heal.stages(proposal), lines)
    assert model.moves == ["r05", "r08", "r11"]
    assert "11 of 11 regions are where their blocks are" in lines.said


def test_the_basis_changes_with_a_server_or_a_region_that_moves() -> None:
    model = HealModel()
    proposal = proposal_of(model)
    assert proposal.basis_in(model.state(print)) == proposal.basis
    restarted = replace(proposal.state, servers={**proposal.state.servers, SERVERS[0]: 2})
    assert proposal.basis_in(restarted) != proposal.basis
    model.homes["r02"] = SERVERS[1]
    assert proposal.basis_in(model.state(print)) != proposal.basis


HFILE, PARENT = "9f2c4be0a5d14c6e8f0b7a3d1e5c9f42", "1588230740aabbccddeeff0011223344"


@pytest.mark.parametrize(
    ("store_file", "name"),
    [
        (HFILE, HFILE),
        (f"{HFILE}_SeqId_12_", f"{HFILE}_SeqId_12_"),
        (f"{HFILE}.{PARENT}", f"{HFILE}.{PARENT}"),
        (f"user-data.v2={PARENT}-{HFILE}", HFILE),
        (f"user-data={PARENT}-{HFILE}.{PARENT}", f"user-data={PARENT}-{HFILE}.{PARENT}"),
    ],
)
def test_the_blocks_of_a_link_are_those_of_its_target(store_file: str, name: str) -> None:
    assert cached_name(store_file) == name
