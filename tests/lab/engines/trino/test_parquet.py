"""The layout of a Parquet file that Trino wrote: TPC-H's nation, 25 rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.trino.prediction import MAGIC, TAIL_BYTES, CompactReader, parquet_layout

NATION = Path(__file__).with_name("nation.parquet").read_bytes()


def test_column_chunks_and_footer_fill_the_file() -> None:
    layout = parquet_layout(NATION)
    assert [chunk.column for chunk in layout.chunks] == ["nationkey", "name", "regionkey", "comment"]
    edges = [len(MAGIC), *(chunk.range.end for chunk in layout.chunks)]
    assert [chunk.range.begin for chunk in layout.chunks] == edges[:-1]
    assert edges[-1] == layout.object_bytes - layout.footer_bytes
    assert layout.object_bytes == len(NATION)


def test_rows_are_read_from_the_footer() -> None:
    layout = parquet_layout(NATION)
    footer = CompactReader(NATION[-layout.footer_bytes : -TAIL_BYTES]).struct()
    assert footer[3] == 25


def test_what_does_not_end_as_parquet_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end with PAR1"):
        parquet_layout(NATION[:-1])


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("00", {}),
        ("11 12 00", {1: True, 2: False}),
        ("15 03 00", {1: -2}),
        ("16 ac 02 00", {1: 150}),
        ("05 c8 01 02 00", {100: 1}),
        ("17 00 00 00 00 00 00 f0 3f 00", {1: 1.0}),
        ("18 02 61 62 00", {1: b"ab"}),
        ("19 25 02 04 00", {1: [1, 2]}),
        ("1c 15 02 00 00", {1: {1: 1}}),
    ],
)
def test_values_of_the_compact_protocol(content: str, value: object) -> None:
    assert CompactReader(bytes.fromhex(content)).struct() == value


def test_a_list_of_fifteen_and_more_states_its_length() -> None:
    assert CompactReader(bytes.fromhex("19 f5 10" + "02" * 16 + "00")).struct() == {1: [1] * 16}


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="Thrift type 13"):
        CompactReader(bytes.fromhex("1d 00")).struct()
