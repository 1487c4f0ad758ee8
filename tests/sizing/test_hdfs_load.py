"""In mode hdfs, a node holds no more than the others can copy in hours, and no retention window is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import RELAXED, WORLD, gp3_volume, with_core, with_workload
from warmbase.ground.units import GIB, MIB, TIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.gp3 import EMR_MOST_VOLUMES
from warmbase.sizing.modes import HDFS, S3_PLAIN, Mode
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import NO_PINS, Pins
from warmbase.sizing.server.system_volume import (
    LONGEST_RECOVERY_SECONDS,
    NAMENODE_REQUESTS_PER_SECOND,
    RECOVERY_FRACTION,
    Hdfs,
    HdfsLoad,
)
from warmbase.sizing.workload.workload import OpenLoad, Reads


def planned(stored_bytes: int, mode: Mode = HDFS) -> Plan:
    needs = with_workload(
        RELAXED, stored_bytes=stored_bytes, regions=2_000, reads=Reads(load=OpenLoad(reads_per_second=300))
    )
    return plan(replace(needs, mode=mode), WORLD)


@pytest.mark.parametrize("stored_bytes", [TIB, 100 * TIB])
def test_a_lost_node_is_copied_again_within_the_limit(stored_bytes: int) -> None:
    sized = planned(stored_bytes)
    volume, count = sized.core.volume("data"), sized.core.count
    assert sized.feasible
    assert volume.count <= EMR_MOST_VOLUMES
    assert sized.hdfs is not None
    assert sized.hdfs.recovery_seconds <= LONGEST_RECOVERY_SECONDS
    assert volume.count * volume.size_gib * count * GIB * 0.7 >= 3 * stored_bytes
    instance = WORLD.instance_types[sized.core.instance_type]
    rate = min(volume.count * volume.throughput_mib_s * MIB, instance.ebs_sustained_bytes_per_second)
    copied = 3 * stored_bytes / count
    assert sized.hdfs.recovery_seconds == pytest.approx(2 * copied / (count - 1) / (0.5 * rate))


def test_the_page_does_not_warn_of_the_volumes_that_it_chose() -> None:
    warnings = {warning.id for warning in planned(100 * TIB).warnings}
    assert not warnings & {"regions-many", "target-recovery", "volume-beyond-instance"}


def test_a_pinned_cluster_that_recovers_too_slowly_is_warned_of() -> None:
    volumes = (replace(gp3_volume("data", 1_000), count=12), gp3_volume("system", 64))
    pinned = replace(with_core(RELAXED, type="r8g.xlarge", count=4, volumes=volumes), mode=HDFS)
    assert "target-recovery" in {warning.id for warning in plan(pinned, WORLD).warnings}


@given(nodes=st.integers(3, 200), copies=st.integers(2, 3), gib=st.integers(1, 20_000), mib_s=st.integers(100, 2_000))
def test_more_nodes_recover_sooner(nodes: int, copies: int, gib: int, mib_s: int) -> None:
    """With one node more for the same data, each node holds less, and more nodes copy."""

    def seconds(count: int) -> float:
        return HdfsLoad(
            nodes=count,
            copies=copies,
            node_bytes=gib * GIB / count,
            disk_bytes_per_second=mib_s * MIB,
            volumes=1,
            regions=100,
        ).recovery_seconds

    assert seconds(nodes + 1) <= seconds(nodes) * (1 + 1e-9)
    if nodes > copies:
        moved = seconds(nodes) * RECOVERY_FRACTION * mib_s * MIB * (nodes - 1)
        assert moved == pytest.approx(2 * gib * GIB / nodes), "what is lost is read once and written once"


@pytest.mark.parametrize(("nodes", "handlers"), [(3, 22), (19, 59), (100, 93)])
def test_the_namenode_has_handlers_for_its_nodes(nodes: int, handlers: int) -> None:
    load = HdfsLoad(nodes=nodes, copies=3, node_bytes=1, disk_bytes_per_second=1, volumes=4, regions=10)
    assert Hdfs.of(load, NO_PINS).namenode_handlers == handlers
    assert Hdfs.of(load, NO_PINS).datanode_handlers == 10
    assert Hdfs.of(replace(load, volumes=12), NO_PINS).datanode_handlers == 12
    assert Hdfs.of(load, NO_PINS).transfer_threads == 4_096
    assert Hdfs.of(replace(load, regions=nodes * 500), NO_PINS).transfer_threads == 8_000


def test_open_files_without_local_blocks_ask_the_namenode_once_in_half_a_minute() -> None:
    """HubSpot's largest cluster has 350,000 store files, so about 12,000 requests a second."""
    load = HdfsLoad(nodes=400, copies=3, node_bytes=1, disk_bytes_per_second=1, volumes=4, regions=87_500)
    assert Hdfs.of(load, NO_PINS).refreshes_per_second == pytest.approx(350_000 / 30)
    assert Hdfs.of(load, NO_PINS).refreshes_per_second < NAMENODE_REQUESTS_PER_SECOND
    sized = planned(TIB, HDFS)
    assert sized.hdfs is not None
    assert sized.because["hdfs.refreshes_per_second"].value == pytest.approx(sized.hdfs.refreshes_per_second)


def test_a_pinned_thread_count_is_the_figure() -> None:
    pins = Pins(namenode_handlers=64, datanode_handlers=20, transfer_threads=9_000)
    sized = plan(replace(with_workload(RELAXED, stored_bytes=TIB), mode=HDFS, pins=pins), WORLD)
    assert sized.hdfs is not None
    assert (sized.hdfs.namenode_handlers, sized.hdfs.datanode_handlers, sized.hdfs.transfer_threads) == (64, 20, 9_000)
    assert sized.because["hdfs.transfer_threads"].value == 9_000


@pytest.mark.parametrize("mode", [HDFS, S3_PLAIN], ids=str)
def test_without_a_cache_there_is_no_retention(mode: Mode) -> None:
    sized = planned(TIB, mode)
    assert sized.restart.retention_window_seconds == sized.restart.crash_offline_seconds == 0
    assert sized.restart.retain_retries == sized.restart.late_seconds == 0
    assert "restart.retain_retries" not in sized.because


@pytest.mark.parametrize("mode", [HDFS, S3_PLAIN], ids=str)
def test_indexes_share_the_heap_with_data_blocks(mode: Mode) -> None:
    """The share of L1 for blocks read twice, a half, holds every index and Bloom chunk."""
    sized = planned(20 * TIB, mode)
    indexes = sized.because["heap.l1_fraction"].inputs["indexes_and_blooms"].value
    assert 0.5 * sized.heap.l1_fraction * sized.heap.xmx_bytes >= 1.25 * float(indexes)
