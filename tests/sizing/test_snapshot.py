import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from warmbase.sizing.recovery.export import Copy, eta

# 20 workers with 2.5 Gbit/s sustained (m5.2xlarge, recalled) and 8 mappers each.
EXPORT = Copy(
    copied_bytes=20 * 10**12,
    servers=20,
    mappers=160,
    network_bytes_per_second=2.5e9 / 8,
)
copies = st.builds(
    Copy,
    copied_bytes=st.integers(0, 10**16),
    servers=st.integers(1, 200),
    mappers=st.integers(1, 5_000),
    network_bytes_per_second=st.floats(1e7, 1e10),
    disk_bytes_per_second=st.one_of(st.none(), st.floats(1e7, 1e10)),
    replicas=st.integers(1, 3),
)


def test_the_published_export_is_the_network_of_its_workers() -> None:
    # Published: 20 TB in about 70 minutes.
    assert eta(EXPORT).limit == "network"
    assert eta(EXPORT).seconds == pytest.approx(70 * 60, rel=0.05)


def test_the_published_restore_is_that_network_shared_by_three_replicas() -> None:
    # Published: 20 TB in about 3 hours.
    assert eta(replace(EXPORT, replicas=3)).seconds == pytest.approx(3 * 3_600, rel=0.2)


def test_few_mappers_bind() -> None:
    result = eta(replace(EXPORT, mappers=20))
    assert result.limit == "streams"
    assert result.bytes_per_second == pytest.approx(20 * 40e6)


def test_slow_disks_bind() -> None:
    slow = eta(replace(EXPORT, disk_bytes_per_second=100e6))
    assert slow.limit == "disk"
    assert slow.bytes_per_second == pytest.approx(20 * 100e6)


def test_a_disk_writes_every_byte_once_per_replica() -> None:
    slow = eta(replace(EXPORT, disk_bytes_per_second=100e6, replicas=3))
    assert slow.limit == "disk"
    assert slow.bytes_per_second == pytest.approx(20 * 100e6 / 3)


@given(copies, st.integers(1, 50))
def test_more_of_anything_never_takes_longer(copy: Copy, more: int) -> None:
    seconds = eta(copy).seconds
    assert eta(replace(copy, servers=copy.servers + more)).seconds <= seconds
    assert eta(replace(copy, mappers=copy.mappers + more)).seconds <= seconds
    assert eta(replace(copy, replicas=copy.replicas + more)).seconds >= seconds
    assert eta(replace(copy, copied_bytes=copy.copied_bytes + more)).seconds >= seconds


@given(copies)
def test_rate_times_time_is_what_was_copied(copy: Copy) -> None:
    result = eta(copy)
    assert result.bytes_per_second * result.seconds == pytest.approx(copy.copied_bytes)
