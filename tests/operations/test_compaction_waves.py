"""A compaction in waves: one region of each server at a time, and none while a cache answers too few reads."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field
from msgspec.structs import replace

from tests.operations.killable import HBaseModel
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.hbase_control import CacheReads, HBaseState, Patience, Region, StoredRegion
from warmbase.operations.hbase.compaction_waves import CompactionWaves, next_wave, wave_sizes

PATIENT = Patience(before=60, recovery=60, poll=0.002)
QUICK = replace(PATIENT, recovery=0.05)
LAST_WEEK, NOW = time.time() - 7 * 86_400, time.time()


def stored(server: str, *, table: str = "orders", files: int = 3, at: float = 0.0, size: int = 100) -> StoredRegion:
    return StoredRegion(table=table, server=server, files=files, stored_bytes=size, compacted_at=at)


class Model(Struct, dict=True):
    """An HBase whose hit ratio is `dip` for so many looks after each wave."""

    regions: dict[str, StoredRegion]
    dip: float = 0.5
    looks: int = 0
    low: int = 0
    reads: bool = True
    closed: str = ""
    waves: list[list[str]] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def now(self) -> float:
        return NOW

    def state(self, say: Say) -> HBaseState:
        del say
        return HBaseState(
            servers=dict.fromkeys((region.server for region in self.regions.values()), 1),
            regions={
                name: Region(table=region.table, server=None if name == self.closed else region.server)
                for name, region in self.regions.items()
            },
            in_transition=0,
            balancer_is_on=True,
        )

    def stored_regions(self, say: Say) -> Mapping[str, StoredRegion]:
        del say
        return self.regions

    def compact(self, regions: Sequence[str], say: Say) -> None:
        del say
        self.waves.append(list(regions))
        self.ratios.append(self.ratio)
        self.low = self.looks
        for name in regions:
            self.regions[name] = stored(self.regions[name].server, files=1, at=NOW)

    @property
    def ratio(self) -> float:
        return self.dip if self.low else 0.99

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        del since
        ratio, self.low = self.ratio, max(0, self.low - 1)
        servers = {region.server for region in self.regions.values()} if self.reads else set()
        return {server: CacheReads(hits=1000 * ratio, misses=1000 * (1 - ratio)) for server in servers}


def waves_of(model: Model, *tables: str, floor: float = 0.9, patience: Patience = PATIENT) -> CompactionWaves:
    return CompactionWaves(
        hbase=model,
        tables=frozenset(tables),
        before=NOW,
        floor=floor,
        patience=patience,
    )


def run(model: Model, *tables: str, patience: Patience = PATIENT) -> list[str]:
    return [stage.act(print) for stage in waves_of(model, *tables, patience=patience).stages()]


REGIONS = {"r0": stored("a"), "r1": stored("a"), "r2": stored("b"), "r3": stored("b", size=900), "r4": stored("a")}


def test_each_server_compacts_one_region_at_a_time() -> None:
    model = Model(dict(REGIONS))
    ends = run(model)
    assert model.waves == [["r0", "r2"], ["r1", "r3"], ["r4"]]
    assert ends[-1] == "100 B compacted; lowest hit ratio 99 %"
    assert run(model) == []


def test_a_region_that_is_not_open_is_not_left_out_in_silence() -> None:
    with pytest.raises(Refused, match=r"1 regions of enabled tables are not open\n.*would be left out"):
        waves_of(Model(dict(REGIONS), closed="r1")).proposal(HBaseModel().journals, print)


def test_the_next_wave_waits_for_the_floor() -> None:
    model = Model(dict(REGIONS), looks=5)
    run(model)
    assert len(model.waves) == 3
    assert min(model.ratios) > 0.9


def test_a_cache_that_stays_below_the_floor_stops_the_compaction() -> None:
    model = Model(dict(REGIONS), looks=10_000)
    with pytest.raises(OperationFailed, match=r"a answers 50 % of its reads.*\n.*floor is 90 %.*\n.*continues with"):
        run(model, patience=QUICK)
    assert model.waves == [["r0", "r2"]]
    model.looks = model.low = 0
    run(model)
    assert model.waves[1:] == [["r1", "r3"], ["r4"]]


def test_a_hit_ratio_below_the_floor_refuses_the_first_wave() -> None:
    with pytest.raises(Refused, match=r"below the floor of 99\.5 % already"):
        waves_of(Model(dict(REGIONS)), floor=0.995).check()
    model = Model(dict(REGIONS), dip=0.75, low=1)
    waves_of(model, floor=0.75).check()


def test_a_wave_waits_for_every_server_that_published_its_reads_before() -> None:
    """Each look has the reads since the last one, and a ratio at the floor is enough."""
    model, clock = Model({"r0": stored("a"), "r1": stored("b")}), iter(range(1000, 2000))
    published = [{"a": 0.99, "b": 0.99}, {}, {"a": 0.99}, {"a": 0.5, "b": 0.99}, {"a": 0.9, "b": 0.99}]
    begun: list[float] = []

    def cache_reads(since: float) -> Mapping[str, CacheReads]:
        begun.append(since)
        ratios = published[min(len(begun), len(published)) - 1]
        return {server: CacheReads(hits=1000 * ratio, misses=1000 - 1000 * ratio) for server, ratio in ratios.items()}

    model.cache_reads, model.now = cache_reads, lambda: float(next(clock))  # type: ignore[method-assign]
    assert run(model) == ["200 B compacted; lowest hit ratio 90 %"]
    assert begun == [1000 - PATIENT.before, 1001, 1001, 1001, 1002]


def test_a_cluster_without_published_reads_is_compacted_and_says_so() -> None:
    assert "no reads were published" in run(Model(dict(REGIONS), reads=False))[0]


def test_only_regions_of_the_tables_with_files_that_are_old_enough_are_due() -> None:
    model = Model(
        {
            "due": stored("a", at=LAST_WEEK),
            "fresh": stored("a", at=NOW + 1),
            "at the time": stored("a", at=NOW),
            "empty": stored("b", files=0),
            "other": stored("b", table="users"),
        }
    )
    assert waves_of(model, "orders").due(print).keys() == {"due"}
    assert waves_of(model).due(print).keys() == {"due", "other"}
    with pytest.raises(Refused, match=r"order  has no open region\n.*orders, users"):
        waves_of(model, "order").due(print)


@given(st.dictionaries(st.text("xyz", min_size=1, max_size=4), st.sampled_from("abc"), min_size=1))
def test_waves_compact_every_region_once(homes: dict[str, str]) -> None:
    model = Model({name: stored(server) for name, server in homes.items()})
    due = waves_of(model).due(print)
    expected, first = wave_sizes(due), next_wave(due)
    run(model)
    assert model.waves[0] == first
    assert sorted(name for wave in model.waves for name in wave) == sorted(homes)
    assert len(model.waves) == len(expected) == max(map(list(homes.values()).count, "abc"))
    assert all(len({homes[name] for name in wave}) == len(wave) for wave in model.waves)
