"""Replicas of blocks move to the servers that read them, wherever the command is interrupted."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct, field

from tests.operations.deployed import Cut
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.ground.units import MIB
from warmbase.operations.aws.progress import Say, carry_out
from warmbase.operations.hbase.heal import (
    STEP_SECONDS,
    EmrHdfs,
    Locality,
    LocalityHeal,
    LocalityProposal,
    ServerLocality,
)

BLOCK = 128 * MIB


class HdfsModel(Struct, dict=True):
    """Two servers with ten blocks each. The second reads `away` of its own from the DataNode of the first."""

    away: int = 6
    blocks_per_step: int = 4
    in_transition: int = 0
    calls: list[tuple[int, int]] = field(default_factory=list)

    def locality(self, say: Say) -> Locality:
        del say
        whole = ServerLocality(
            bytes=10 * BLOCK, local_bytes=10 * BLOCK, moves=0, moved_bytes=0, sent_bytes=self.away * BLOCK
        )
        lacking = ServerLocality(
            bytes=10 * BLOCK,
            local_bytes=(10 - self.away) * BLOCK,
            moves=self.away,
            moved_bytes=self.away * BLOCK,
            sent_bytes=0,
        )
        return Locality(
            servers={"a:16020": whole, "b:16020": lacking},
            in_transition=self.in_transition,
            bandwidth_bytes_per_second=100 * MIB,
        )

    def relocate(self, bandwidth_bytes_per_second: int, seconds: int, say: Say) -> tuple[int, Locality]:
        self.calls.append((bandwidth_bytes_per_second, seconds))
        blocks = min(self.away, self.blocks_per_step)
        self.away -= blocks
        return blocks * BLOCK, self.locality(say)


def run(model: HdfsModel, bandwidth: int | None = None) -> list[str]:
    heal, progress = LocalityHeal(hdfs=model), Cut()
    carry_out(heal.stages(heal.propose(print, bandwidth)), progress)
    return [*progress.titles, *progress.said]


def test_every_block_comes_home_in_as_many_steps_as_it_takes() -> None:
    model = HdfsModel()
    lines = run(model)
    assert lines[0] == "move 6 replicas to the hosts of their RegionServers"
    assert "512 MiB moved, 256 MiB left" in lines
    assert lines[-1] == "local: b:16020 40% to 100%, a:16020 100% to 100%"
    assert model.calls == [(100 * MIB, STEP_SECONDS)] * 2
    assert model.locality(print).total.moves == 0


def test_a_bandwidth_replaces_that_of_the_datanodes() -> None:
    model = HdfsModel(blocks_per_step=10)
    run(model, 50 * MIB)
    assert model.calls == [(50 * MIB, STEP_SECONDS)]


def test_the_busiest_datanode_takes_the_time_whether_it_sends_or_receives() -> None:
    heal = LocalityHeal(hdfs=HdfsModel())
    assert heal.propose(print, 64 * MIB).seconds == 12
    proposal = heal.propose(print)
    assert isinstance(proposal, LocalityProposal)
    assert proposal.seconds == pytest.approx(7.68)


def test_blocks_that_cannot_be_moved_end_the_command() -> None:
    with pytest.raises(OperationFailed, match="6 blocks  could not be moved to the hosts of their RegionServers"):
        run(HdfsModel(blocks_per_step=0))


def test_a_region_in_transition_refuses_it() -> None:
    with pytest.raises(Refused, match="is not quiet: 2 regions are in transition"):
        LocalityHeal(hdfs=HdfsModel(in_transition=2)).propose(print)


def test_a_server_that_leaves_changes_the_basis() -> None:
    heal = LocalityHeal(hdfs=HdfsModel())
    proposal = heal.propose(print)
    assert proposal.basis_in(HdfsModel(away=0).locality(print)) == proposal.basis
    alone = Locality(
        servers={"a:16020": next(iter(proposal.locality.servers.values()))},
        in_transition=0,
        bandwidth_bytes_per_second=1,
    )
    assert proposal.basis_in(alone) != proposal.basis


def test_a_server_without_store_files_lacks_nothing() -> None:
    empty = ServerLocality(bytes=0, local_bytes=0, moves=0, moved_bytes=0, sent_bytes=0)
    assert empty.local_fraction == 1


class Answering(Struct, dict=True):
    """A primary whose step answers."""

    answer: dict[str, Any]
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, name: str, say: Say, *arguments: str) -> dict[str, Any]:
        del say
        self.asked.append((name, *arguments))
        return self.answer


def test_the_step_is_asked_with_a_bandwidth_and_a_time() -> None:
    figures = {"bytes": 4, "local_bytes": 3, "moves": 1, "moved_bytes": 1, "sent_bytes": 0}
    primary: Any = Answering({"servers": {"a:16020": figures}, "in_transition": 0, "bandwidth": 7, "moved_bytes": 9})
    moved, locality = EmrHdfs(primary=primary).relocate(5, 60, print)
    assert (moved, locality.total, locality.bandwidth_bytes_per_second) == (9, ServerLocality(**figures), 7)
    assert primary.asked == [("heal-locality", "relocate", "5", "60")]
