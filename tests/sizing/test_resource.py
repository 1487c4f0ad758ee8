from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from warmbase.ground.units import MIB
from warmbase.sizing.service.resource import (
    Disk,
    Rates,
    Resource,
    ServingCluster,
    bottleneck,
    disk_bytes_per_read,
    ebs_disk,
    ios_per_fill,
    resources,
)
from warmbase.sizing.workload.read import Hits, Read, Timings, block_cpu_seconds, blocks_per_row

reads = st.builds(
    Read,
    blocks=st.floats(1, 100),
    cached_length_bytes=st.integers(4_096, 600_000),
    on_disk_length_bytes=st.integers(1_000, 600_000),
    answer_bytes=st.integers(100, 10_000_000),
    runs=st.floats(1, 100),
)
disks = st.builds(
    Disk,
    kind=st.sampled_from(["ebs", "nvme"]),
    bytes_per_second=st.floats(100e6, 4e9),
    ios_per_second=st.floats(3_000, 500_000),
)
clusters = st.builds(
    ServingCluster,
    servers=st.integers(1, 200),
    vcpus=st.integers(2, 192),
    network_gbit_per_second=st.floats(0.5, 100),
    handlers=st.integers(10, 500),
    disk=disks,
    s3_prefixes=st.integers(1, 16),
)
hits = st.builds(Hits, ratio=st.floats(0, 1), page_cache_fraction=st.floats(0, 1))


def most(cluster: ServingCluster, read: Read, result: Hits) -> float:
    return bottleneck(resources(cluster, read, result, Timings())).max_reads_per_second


@given(clusters, reads, hits, st.floats(1, 10), st.floats(1, 10))
def test_a_faster_disk_never_lowers_throughput(
    cluster: ServingCluster, read: Read, result: Hits, bandwidth: float, iops: float
) -> None:
    assert cluster.disk is not None
    faster = Disk(
        kind=cluster.disk.kind,
        bytes_per_second=cluster.disk.bytes_per_second * bandwidth,
        ios_per_second=cluster.disk.ios_per_second * iops,
    )
    assert most(replace(cluster, disk=faster), read, result) >= most(cluster, read, result)


@given(clusters, reads, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_misses_never_raise_throughput(
    cluster: ServingCluster, read: Read, one: float, other: float, page_cache: float
) -> None:
    fewer, more = (
        most(cluster, read, Hits(ratio=ratio, page_cache_fraction=page_cache))
        for ratio in sorted((one, other), reverse=True)
    )
    assert more <= fewer * (1 + 1e-12)


@given(clusters, reads, hits, st.integers(1, 50))
def test_more_servers_never_lower_throughput(cluster: ServingCluster, read: Read, result: Hits, more: int) -> None:
    bigger = replace(cluster, servers=cluster.servers + more)
    assert most(bigger, read, result) >= most(cluster, read, result) * (1 - 1e-12)


@given(reads, hits)
def test_scattered_blocks_never_cost_fewer_bytes(read: Read, result: Hits) -> None:
    together = Read(
        blocks=read.blocks,
        cached_length_bytes=read.cached_length_bytes,
        on_disk_length_bytes=read.on_disk_length_bytes,
        answer_bytes=read.answer_bytes,
    )
    assert disk_bytes_per_read(together, result) <= disk_bytes_per_read(read, result)


@pytest.mark.parametrize(
    ("row_bytes", "cell_bytes", "payload_bytes", "blocks"),
    [
        (400, 400, 65_536, 1.0),
        (100, 400, 65_536, 1.0),
        (65_536 + 400, 400, 65_536, 2.0),
        (2_080, 2_080, 66_560, 1.0),
        (850_000, 470, 65_771, 13.916),
    ],
)
def test_a_row_touches_one_block_and_one_more_per_boundary(
    row_bytes: float, cell_bytes: float, payload_bytes: float, blocks: float
) -> None:
    assert blocks_per_row(row_bytes, cell_bytes, payload_bytes) == pytest.approx(blocks, abs=1e-3)


def test_blocks_per_row_is_the_mean_over_every_start() -> None:
    cell, cells_in_block, cells_in_row = 100, 40, 93
    touched = [
        ceil((start + cells_in_row) / cells_in_block) for start in range(cells_in_block)
    ]  # counted from the block in which it starts
    mean = sum(touched) / len(touched)
    assert blocks_per_row(cells_in_row * cell, cell, cells_in_block * cell) == pytest.approx(mean)


@pytest.mark.parametrize(("length_bytes", "ebs", "nvme"), [(66_422, 3, 3), (132_000, 3, 4), (263_000, 4, 5)])
def test_ios_of_a_fill_split_where_the_device_splits(length_bytes: int, ebs: int, nvme: int) -> None:
    assert ios_per_fill(length_bytes, "ebs") == ebs
    assert ios_per_fill(length_bytes, "nvme") == nvme


@pytest.mark.parametrize(
    ("volumes", "mib_per_second", "bytes_per_second"),
    [(1, 125, 131_072_000), (2, 125, 262_144_000), (3, 125, 312_500_000), (1, 1_000, 312_500_000)],
)
def test_the_smaller_of_volumes_and_instance_binds(
    volumes: int, mib_per_second: float, bytes_per_second: float
) -> None:
    disk = ebs_disk(
        Rates(bytes_per_second=mib_per_second * MIB, ios_per_second=3_000),
        Rates(bytes_per_second=312_500_000, ios_per_second=12_000),
        volumes=volumes,
    )
    assert disk.bytes_per_second == bytes_per_second
    assert disk.ios_per_second == 3_000 * volumes


WITHOUT_CACHE = ServingCluster(servers=6, vcpus=8, network_gbit_per_second=3.75, handlers=30, disk=None)
ROW = Read(blocks=13.916, cached_length_bytes=65_825, on_disk_length_bytes=65_824, answer_bytes=850_000)


def test_hits_without_a_cache_are_refused() -> None:
    with pytest.raises(ValueError, match=r"hit ratio of 0\.50 needs a cache disk"):
        resources(WITHOUT_CACHE, ROW, Hits(ratio=0.5), Timings())


def test_without_a_cache_handlers_waiting_for_s3_are_the_bottleneck() -> None:
    # Each row waits 13.9 times for 150 ms: 180 handlers, 2.1 s.
    result = resources(WITHOUT_CACHE, ROW, Hits(ratio=0.0), Timings())
    assert bottleneck(result).name == "handlers"
    assert bottleneck(result).max_reads_per_second == pytest.approx(180 / (13.916 * 0.1516), rel=0.05)
    assert not [resource for resource in result if resource.name.startswith(("ebs", "nvme"))]


def test_s3_requests_count_missing_blocks_only() -> None:
    cluster = replace(WITHOUT_CACHE, disk=Disk(kind="ebs", bytes_per_second=1e9, ios_per_second=1e5))
    result = {resource.name: resource for resource in resources(cluster, ROW, Hits(ratio=0.9), Timings())}
    assert result["s3-requests"].demand_per_read == pytest.approx(1.3916)
    assert result["s3-requests"].capacity == 5_500


def test_disks_are_named_for_their_kind() -> None:
    cluster = replace(WITHOUT_CACHE, disk=Disk(kind="nvme", bytes_per_second=1e9, ios_per_second=1e5))
    names = [resource.name for resource in resources(cluster, ROW, Hits(ratio=1.0), Timings())]
    assert names == ["cpu", "network", "nvme-throughput", "nvme-iops", "s3-requests", "handlers"]


def test_what_a_read_does_not_need_never_binds() -> None:
    unused = Resource(name="s3-requests", capacity=5_500, unit="GET/s", demand_per_read=0.0)
    used = Resource(name="cpu", capacity=48, unit="core", demand_per_read=1.0)
    assert bottleneck([unused, used]) is used


def test_compressed_blocks_cost_more_cpu() -> None:
    assert block_cpu_seconds(65_536, compressed=False) == pytest.approx(80e-6)
    assert block_cpu_seconds(65_536, compressed=True) == pytest.approx(210e-6)
