"""How long an entry of the persisted index is: by the format's rules, and beside index files of a real RegionServer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.prediction import Numbers, entry_bytes, mean_varint_bytes, varint_bytes
from warmbase.ground.units import GIB, KIB, MIB, TIB
from warmbase.sizing.server.restart import INDEX_BYTES_PER_BLOCK

SMALL = Numbers(file_bytes=8 * MIB, cache_bytes=150 * MIB, block_bytes=4_500, accesses=28_000, up_seconds=2e5)


def encoded(number: int) -> bytes:
    """Return the number as protobuf writes it."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


@given(st.integers(0, 2**62))
def test_a_varint_is_as_long_as_protobuf_writes_it(number: int) -> None:
    assert varint_bytes(number) == len(encoded(number))


@pytest.mark.parametrize("limit", [1, 100, 128, 129, 1_000, 20_000, 70_000])
def test_the_mean_is_that_of_all_numbers_below(limit: int) -> None:
    mean = sum(len(encoded(number)) for number in range(limit)) / limit
    assert mean_varint_bytes(limit) == pytest.approx(mean, abs=0.01)


@pytest.mark.parametrize(
    ("numbers", "measured"),
    [
        (SMALL, 75.4),
        (replace(SMALL, cache_bytes=284 * MIB, block_bytes=1_440, accesses=186_434), 75.94),
        (replace(SMALL, file_bytes=15 * MIB, cache_bytes=1_300 * MIB, block_bytes=65_900, accesses=18_766), 77.8),
    ],
)
def test_the_computed_index_files_are_as_long_as_measured(numbers: Numbers, measured: float) -> None:
    assert entry_bytes(numbers) == pytest.approx(measured, rel=0.01)


@given(st.sampled_from(Numbers.__struct_fields__), st.floats(1, 1e6))
def test_larger_numbers_never_make_a_shorter_entry(name: str, times: float) -> None:
    larger = replace(SMALL, **{name: getattr(SMALL, name) * times})
    assert entry_bytes(larger) >= entry_bytes(SMALL)


def test_a_plan_has_room_for_more_than_was_ever_measured() -> None:
    large = Numbers(file_bytes=10 * GIB, cache_bytes=TIB, block_bytes=64 * KIB, accesses=2**32, up_seconds=90 * 86_400)
    assert round(entry_bytes(large), 1) == INDEX_BYTES_PER_BLOCK
    # 81.5 of two million blocks.
    assert 81.5 < INDEX_BYTES_PER_BLOCK < 90
