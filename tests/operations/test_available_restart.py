"""An available restart: each server restarts without regions, which come home, and a later restart keeps them there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.operations.deployed import Cut
from tests.operations.killable import META, SERVERS, Killed
from tests.operations.test_rolling_restart import QUICK, Model
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.progress import Say, carry_out
from warmbase.operations.cluster.hbase_control import META_TABLE, HBaseState, Region, RegionMove
from warmbase.operations.hbase.rolling_restart import AvailableRestart, RollingRestart, moves_away
from warmbase.sizing.recovery.region_assignment import CacheBlocks


class MovingModel(Model, dict=True):
    """The HBase of the rolling restart, whose regions can be moved. It has never had a server with offline regions."""

    def restart(self, server: str, say: Say) -> None:
        assert server not in self.homes.values(), "its regions are offline"
        super().restart(server, say)

    def reopen(self, tables: Sequence[str], say: Say) -> None:
        del say
        with self.call():
            assert not self.balancer
            assert self.busy <= 0, "hbase:meta may be in transition"
            if META_TABLE in tables:
                self.busy = 3
            for region, home in self.homes.items():
                if (META_TABLE if region == META else "orders") in tables:
                    self.lasts[region] = str(home)


def available(model: MovingModel) -> AvailableRestart:
    return AvailableRestart(hbase=model, journals=model.journals, patience=QUICK)


def run(model: MovingModel) -> list[str]:
    """Restart all servers as a new command would, and return what it says."""
    progress = Cut()
    carry_out(available(model).stages(model.state(print)), progress)
    return [*progress.titles, *progress.said]


def is_whole(model: MovingModel) -> bool:
    """Return whether every region is on its first server, and a restart would keep it there."""
    return model.homes == model.first_homes == model.lasts and model.balancer and model.journal is None


def test_every_server_restarts_once_without_regions() -> None:
    model = MovingModel()
    lines = run(model)
    assert model.restarts == ["b:16020", "c:16020", "a:16020"]
    assert is_whole(model)
    assert "2 regions are open on other servers" in lines
    assert any(line.startswith("2 of 2 regions at home, hit ratio 99 %") for line in lines)


def test_regions_that_appear_during_the_restart_come_home_too() -> None:
    """A region splits before its server restarts; its halves are in no journal yet."""
    model = MovingModel()
    restart, progress = available(model), Cut()
    for stage in restart.stages(model.state(print)):
        if stage.title == "move the regions of c:16020 away":
            for half in ("r20a", "r20b"):
                model.homes[half] = model.lasts[half] = model.first_homes[half] = "c:16020"
            for known in (model.homes, model.lasts, model.first_homes):
                del known["r20"]
        progress.said.append(stage.act(print))
    assert is_whole(model)
    assert any(line.startswith("3 of 3 regions at home") for line in progress.said)


def test_meta_moves_first_away_and_first_home() -> None:
    model = MovingModel()
    run(model)
    of_server = [move for move in model.moves if SERVERS[0] in move.split()[1:] and move.split()[0] in {META, "r00"}]
    assert of_server[0].startswith(f"{META} {SERVERS[0]} ")
    assert [move.split()[0] for move in model.moves[-3:]] == [META, "r00", "r01"]


def test_without_the_reopening_the_next_restart_would_lose_the_regions() -> None:
    """The model loses regions as a restart after graceful_stop.sh does, which shows that the reopening is needed."""
    model = MovingModel(balancer=False)
    for source, target in (("b:16020", "c:16020"), ("c:16020", "b:16020")):
        model.move([RegionMove(region="r10", table="orders", source=source, target=target)], 0.0, print)
    assert model.state(print).moved_tables == ("orders",)


def test_wherever_it_is_killed_the_same_command_finishes() -> None:
    run(whole := MovingModel())
    for place in range(2, whole.calls + 1):
        for before in (True, False):
            model = MovingModel(kill_at=place, kill_before=before)
            with pytest.raises(Killed):
                run(model)
            run(model)
            assert is_whole(model), place
            assert model.most_down == 1, place
            assert set(model.restarts) == set(SERVERS), place
            # Once the journal is cleared the restart has ended, and the second command is another one.
            has_ended = place == whole.calls and not before
            assert len(model.restarts) == len(SERVERS) * (2 if has_ended else 1), place


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_whose_node_emr_replaces_meanwhile_is_skipped(server: str) -> None:
    run(whole := MovingModel())
    for place in range(4, whole.calls - 1, 3):
        model = MovingModel(kill_at=place)
        with pytest.raises(Killed):
            run(model)
        if model.journal is None:
            continue
        model.replace_node(server)
        run(model)
        assert model.balancer, place
        assert model.journal is None, place
        assert set(SERVERS) - {server} <= set(model.restarts), place
        assert all(model.lasts[region] == home for region, home in model.homes.items()), place


def test_regions_without_blocks_in_any_cache_come_home_after_an_interruption_too() -> None:
    model = MovingModel(blocks=0)
    carry_out(list(available(model).stages(model.state(print)))[:2], Cut())
    assert model.homes != model.first_homes
    run(model)
    assert is_whole(model)


def test_no_region_comes_home_to_a_server_that_has_not_restarted() -> None:
    model = MovingModel()
    carry_out(list(available(model).stages(model.state(print)))[:2], Cut())
    moves = len(model.moves)
    with pytest.raises(OperationFailed, match="b:16020  has not restarted"):
        available(model)._bring_home("b:16020", print)
    assert len(model.moves) == moves


def test_a_region_that_does_not_move_stops_it_before_the_server_restarts() -> None:
    model = MovingModel(stuck="r11")
    with pytest.raises(OperationFailed, match="r11"):
        run(model)
    assert model.restarts == []
    model.stuck = None
    run(model)
    assert is_whole(model)


def test_a_cache_that_was_lost_stops_it_with_all_regions_at_home() -> None:
    model = MovingModel(lose_cache="b:16020")
    with pytest.raises(OperationFailed, match=r"b:16020  hits 97.6 % of its reads"):
        run(model)
    assert model.restarts == ["b:16020"]
    assert model.homes == model.first_homes
    model.lose_cache = None
    run(model)
    assert is_whole(model)


def test_a_server_that_dies_while_regions_move_away_stops_it_before_another_one_is_down() -> None:
    model = MovingModel()

    def die(moves: Sequence[RegionMove], pause_seconds: float, say: Say) -> None:
        MovingModel.move(model, moves, pause_seconds, say)
        # The master opens its regions on the server that remains.
        model.down["c:16020"] = 10**6
        model.homes.update({name: "a:16020" for name, home in model.homes.items() if home == "c:16020"})

    model.move = die  # type: ignore[method-assign]
    with pytest.raises(Refused, match="c:16020  is not among the live RegionServers"):
        run(model)
    assert model.restarts == []


def test_a_balancer_that_somebody_switches_on_meanwhile_is_off_when_regions_move() -> None:
    model = MovingModel()
    for stage in available(model).stages(model.state(print)):
        # Between the last move and the reopening there is no time to switch it on.
        model.balancer = not stage.title.startswith("reopen")
        carry_out([stage], Cut())
    assert is_whole(model)


def test_a_half_of_a_region_that_split_after_the_moves_is_moved_before_its_server_restarts() -> None:
    model = MovingModel()
    for stage in available(model).stages(model.state(print)):
        if stage.title == "restart b:16020 in place":
            model.homes["half"] = model.lasts["half"] = model.first_homes["half"] = "b:16020"
        carry_out([stage], Cut())
        if stage.title == "restart b:16020 in place":
            assert model.homes["half"] != "b:16020"
    assert model.restarts == ["b:16020", "c:16020", "a:16020"]


def test_the_two_ways_do_not_continue_each_other() -> None:
    model = MovingModel(kill_at=12)
    with pytest.raises(Killed):
        run(model)
    with pytest.raises(Refused, match=r"(?s)a restart with --available.*restart ENV --rolling --available"):
        carry_out(
            RollingRestart(hbase=model, journals=model.journals, patience=QUICK).stages(model.state(print)), Cut()
        )


def test_a_single_server_is_refused() -> None:
    state = HBaseState(servers={"a:1": 1}, regions={}, in_transition=0, balancer_is_on=True)
    with pytest.raises(Refused, match="no other RegionServer"):
        available(MovingModel()).check(state, print)


def test_regions_spread_over_the_servers_that_have_fewest() -> None:
    homes = {"1": "a:1", "2": "a:1", "3": "a:1", "4": "b:1", "5": "b:1"}
    state = HBaseState(
        servers={"a:1": 1, "b:1": 1, "c:1": 1},
        regions={name: Region(table="t", server=server) for name, server in homes.items()},
        in_transition=0,
        balancer_is_on=False,
    )
    assert [move.target for move in moves_away("a:1", state)] == ["c:1", "c:1", "b:1"]


def test_blocks_are_those_of_the_files_that_its_regions_have() -> None:
    model = MovingModel()
    caches = available(model).cache_blocks(SERVERS, model.first_homes, print)
    assert caches["b:16020"] == CacheBlocks(all_blocks=30, own_blocks=20, own_bytes=2000)
