"""Advice by family: each piece where its cause is, none where it is not, with figures that follow from the family's."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from warmbase.ground.block import FamilyTotals, Inspection, LengthHistogram
from warmbase.ground.units import GIB, KIB
from warmbase.sizing.warning import advice


def lengths(block_bytes: int, total_bytes: int = 100 * GIB) -> LengthHistogram:
    """Return so many blocks of one length."""
    return LengthHistogram.of([(block_bytes, max(1, total_bytes // block_bytes))])


WELL = FamilyTotals(
    table="users",
    name="cf",
    lengths=lengths(66_000),
    compressed_lengths=lengths(66_000),
    index_bytes=GIB,
    bloom_bytes=GIB,
    cells=200_000_000,
    rows=20_000_000,
    largest_cell_bytes=2_000,
    codec="none",
    encoding="NONE",
    files=240,
    regions=240,
    bloom="ROW",
    key_bytes=40,
    value_bytes=500,
    block_bytes=64 * KIB,
    files_read=100,
    zstd_ratio=1.1,
)
CASES = [
    ({}, []),
    (
        {"lengths": lengths(1_000_000), "cells": 107_374},
        ["cache: false for the family (BLOCKCACHE => 'false'), or a family of its own as MOB"],
    ),
    ({"lengths": lengths(8_000), "block_bytes": 8192}, ["BLOCKSIZE => '65536'"]),
    ({"lengths": lengths(8_000, GIB), "index_bytes": 0, "block_bytes": 8192}, []),
    ({"lengths": lengths(8_000)}, []),
    ({"lengths": lengths(262_000)}, []),
    ({"lengths": lengths(262_000), "block_bytes": 0}, ["BLOCKSIZE => '65536'"]),
    ({"key_bytes": 60, "value_bytes": 40}, ["DATA_BLOCK_ENCODING => 'FAST_DIFF'"]),
    ({"key_bytes": 60, "value_bytes": 40, "encoding": "FAST_DIFF"}, []),
    ({"zstd_ratio": 3.0}, ["COMPRESSION => 'ZSTD'"]),
    ({"zstd_ratio": 3.0, "codec": "snappy"}, []),
    ({"bloom": "NONE", "files": 960}, ["BLOOMFILTER => 'ROW'"]),
    ({"bloom": "NONE"}, []),
    ({"bloom": "", "files": 960}, []),
]


@pytest.mark.parametrize(("changed", "settings"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_every_piece_of_advice_appears_with_its_cause(changed: dict[str, object], settings: list[str]) -> None:
    family = replace(WELL, **changed)
    result = advice(Inspection(root="s3://b/p/", inspected_at="2026-11-20", stored_bytes=1, families=(family,)))
    assert [item.setting for item in result] == settings
    for item in result:
        assert (item.table, item.family) == ("users", "cf")
        assert item.why
        assert item.but


def test_the_advice_on_small_blocks_has_the_heap_that_they_cost() -> None:
    family = replace(WELL, lengths=lengths(8_192), block_bytes=0)
    [result] = advice(Inspection(root="s3://b/p/", inspected_at="2026-11-20", stored_bytes=1, families=(family,)))
    # 13,107,200 blocks of 540 B each, and 1 GiB of index.
    assert "13,107,200 blocks of 8 KiB take 7.59 GiB of all heaps" in result.why
    assert "at 64 KiB 972 MiB" in result.why
