"""Whatever bytes it is given, the reader answers or says Unreadable: soon, in little memory, and reading no more.

`make fuzz` tries more of them, and others each time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest

from tests.hfile.damage import NAME, ReadFile, mend_checksums, originals
from tests.hfile.damages import KINDS, Damaged
from tests.hfile.fuzzing import SLACK_BYTES, peak_bytes, refusal, tried
from warmbase.hfile.block import MAGICS, block_header
from warmbase.hfile.cursor import Cursor, Unreadable
from warmbase.hfile.file_stats import ALL, Depth, read_stats
from warmbase.hfile.store_file import data_blocks, opened

pytestmark = pytest.mark.hypothesis  # `tried` takes its number of inputs from the profile

PARTS = range(4)
"""The inputs of each kind come in parts, so that several processes share the work."""
MEASURED_SHARE = 1 / 20
"""The share of the inputs that are watched for memory, which takes several times as long."""
MOST_READS = 4
"""Times the file: its end, the index, a header of each block, and some blocks."""

READS: tuple[Callable[[ReadFile], object], ...] = (
    lambda held: data_blocks(held, opened(held)),
    lambda held: read_stats(held, Depth(leaves=ALL, headers=ALL), Random(0)),
    lambda held: read_stats(held, Depth(leaves=4, headers=4, trials=2), Random(0)),
)


def reads_or_refuses(data: bytes) -> None:
    for read in READS:
        held = ReadFile(data)
        refusal(lambda: read(held), NAME)  # noqa: B023 - it is called at once
        assert held.read_bytes <= MOST_READS * len(data)


def answers_are_lengths(data: bytes) -> None:
    """Return what is told of a file that only seems whole is at least of the right kind."""
    with suppress(Unreadable):
        found = read_stats(ReadFile(data), Depth(leaves=4, headers=4), Random(0))
        assert all(length > 0 <= blocks for length, blocks in found.lengths.items())
        assert all(length > 0 <= blocks for length, blocks in found.compressed_lengths.items())
        assert min(found.size_bytes, found.index_bytes, found.bloom_bytes, found.cells, found.rows or 0) >= 0


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", KINDS)
def test_any_file_is_read_or_refused(kind: str, part: int, request: pytest.FixtureRequest) -> None:
    def law(damaged: Damaged) -> None:
        reads_or_refuses(damaged.data)
        answers_are_lengths(damaged.data)

    tried(request, law, KINDS[kind], 1 / len(KINDS) / len(PARTS), f"{kind} {part}")


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_takes_more_memory_than_its_size(kind: str, request: pytest.FixtureRequest) -> None:
    def law(damaged: Damaged) -> None:
        for read in READS:
            peak = peak_bytes(lambda: read(ReadFile(damaged.data)))  # noqa: B023 - it is called at once
            assert peak <= len(damaged.data) + SLACK_BYTES

    tried(request, law, KINDS[kind], MEASURED_SHARE / len(KINDS), kind)


@pytest.mark.parametrize("name", originals())
def test_mended_checksums_are_those_of_hbase(name: str) -> None:
    """The helper that lets damage reach what checksums protect: it finds each block, and knows each kind."""
    data = originals()[name].data
    without = bytearray(data)
    for begin in map(data.find, MAGICS):
        if begin >= 0:
            header = block_header(Cursor(name, begin, data[begin : begin + 33]))
            checksums = slice(begin + header.data_bytes, begin + header.on_disk_bytes)
            without[checksums] = bytes(len(without[checksums]))
    assert (without == data) == (name == "checksum-null.hfile")
    assert mend_checksums(bytes(without)) == data
