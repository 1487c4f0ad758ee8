"""The persisted index of a BucketCache: its totals are exact, and no damage changes them silently."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from warmbase.hfile import cache_index
from warmbase.hfile.cache_index import CachedFile, DamagedIndex, cached_files

NAMES = [f"{number:032x}" for number in (7, 0xABCDEF << 96, 2**127 + 5)] + ["0123456789abcdef_SeqId_12_"]
REGION = "00112233445566778899aabbccddeeff"


class Block(Struct, frozen=True, dict=True):
    """A block as HBase writes it into the index."""

    name: str
    offset: int
    length: int
    region: str | None = None


blocks = st.builds(
    Block,
    name=st.sampled_from(NAMES),
    offset=st.integers(0, 2**40),
    length=st.integers(1, 2**24),
    region=st.sampled_from([None, REGION, "1588230740"]),
)


def varint(number: int) -> bytes:
    high = number >> 7
    return bytes([number]) if not high else bytes([number & 0x7F | 0x80]) + varint(high)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def text(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def entry(block: Block) -> bytes:
    key = text(1, block.name.encode()) + number(2, block.offset) + number(3, 0) + number(4, 1)
    if block.region is not None:
        key += text(5, block.region.encode()) + text(6, b"cf") + number(7, 0)
    value = number(1, block.offset // 3) + number(2, block.length) + number(3, 17) + number(4, 2) + number(5, 1)
    return text(1, text(1, key) + text(2, value + number(6, 123_456_789_012) + number(7, block.length)))


def description(entries: bytes) -> bytes:
    backing = text(5, entries) if entries else b""
    head = (
        number(1, 2**40) + text(2, b"FileIOEngine") + text(3, b"java.util.Map") + text(4, number(1, 1) + text(2, b"x"))
    )
    return (
        head + backing + text(6, b"checksum") + text(7, text(1, b"file") + text(2, text(1, b"region") + number(2, 9)))
    )


def index(form: str, some: Sequence[Block], size: int = 2) -> bytes:
    """Return the file as HBase 2.6.0 (whole), 2.6.1 to 2.6.4 (chunked) or 2.6.5 and later (streamed) writes it."""
    chunks = [b"".join(entry(block) for block in some[first : first + size]) for first in range(0, len(some), size)]
    if form == "whole":
        return b"PBUF" + delimited(description(b"".join(chunks)))
    if form == "streamed":
        return b"V2UF" + b"".join(map(delimited, [description(b""), *chunks]))
    messages = [description(chunks[0]), *chunks[1:]]
    return b"V2UF" + struct.pack(">qq", size, len(chunks)) + b"".join(map(delimited, messages))


def delimited(message: bytes) -> bytes:
    return varint(len(message)) + message


def totals(some: Sequence[Block]) -> dict[str, CachedFile]:
    return {
        name: CachedFile(sum(block.name == name for block in some), sum(b.length for b in some if b.name == name))
        for name in {block.name for block in some}
    }


def read(directory: Path, content: bytes, form: str) -> dict[str, CachedFile]:
    file = directory / "bucketcache.index"
    file.write_bytes(content)
    return cached_files(file, "chunked" if form == "whole" else form)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("index")


FORMS = st.sampled_from(["whole", "chunked", "streamed"])


@given(some=st.lists(blocks, min_size=1, max_size=9), form=FORMS, size=st.integers(1, 4))
def test_totals_are_those_of_the_blocks(directory: Path, some: list[Block], form: str, size: int) -> None:
    assert read(directory, index(form, some, size), form) == totals(some)


@given(some=st.lists(blocks, min_size=1, max_size=5), form=FORMS, data=st.data())
def test_a_file_that_was_cut_off_is_an_error(
    directory: Path, some: list[Block], form: str, data: st.DataObject
) -> None:
    whole = index(form, some)
    cut = data.draw(st.integers(0, len(whole) - 1))
    if form == "streamed":
        # Such an index announces no number of messages: one that ends between two of them is whole.
        try:
            shorter = read(directory, whole[:cut], form)
        except DamagedIndex:
            return
        assert shorter in [totals(some[:count]) for count in range(0, len(some) + 1, 2)]
        return
    with pytest.raises(DamagedIndex):
        read(directory, whole[:cut], form)


@given(some=st.lists(blocks, min_size=3, max_size=8), form=FORMS, data=st.data())
def test_a_hole_is_an_error_or_outside_the_blocks(
    directory: Path, some: list[Block], form: str, data: st.DataObject
) -> None:
    whole = index(form, some)
    start = data.draw(st.integers(4, len(whole) - 100))
    holed = whole[:start] + bytes(100) + whole[start + 100 :]
    try:
        found = read(directory, holed, form)
    except DamagedIndex:
        return
    assert found == totals(some)


@given(some=st.lists(blocks, min_size=2, max_size=6), data=st.data())
def test_a_length_that_was_changed_is_an_error(directory: Path, some: list[Block], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(some) - 1))
    entries = [entry(block) for block in some]
    place = sum(map(len, entries[:first])) + data.draw(st.sampled_from([1, 3]))
    area = bytearray(b"".join(entries))
    area[place] ^= 1 << data.draw(st.integers(0, 6))
    content = b"V2UF" + struct.pack(">qq", 10, 1) + delimited(description(bytes(area)))
    with pytest.raises(DamagedIndex):
        read(directory, content, "chunked")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with b''"),
        (b"PAR1rest", "begins with b'PAR1'"),
        (b"V2UF" + bytes(9), "ends before its number of chunks"),
        (b"V2UF" + struct.pack(">qq", 10, 0), "announces 0 chunks"),
        (b"V2UF" + struct.pack(">qq", 10, 2) + delimited(entry(Block(NAMES[0], 1, 2))), "has 1 of 2 messages"),
        (
            b"V2UF" + struct.pack(">qq", 10, 1) + delimited(entry(Block(NAMES[0], 1, 2)) + b"x"),
            "its entries have lengths for 65 bytes and are 66 bytes long",
        ),
        (b"PBUF" + varint(2**35 - 1), "message 1, before byte 9, is cut off or has no length"),
        (b"PBUF" + delimited(10 * b"\xff" + b"\x01"), "before byte 10 of a message is longer than 10 bytes"),
        (b"PBUF" + delimited(b"\x08" + 9 * b"\xff" + b"\x01" + 5 * b"\xff"), "does not end where its last field does"),
        (b"PBUF" + delimited(b"\n" * 2**20), "its entries have lengths for 0 bytes and are 1048576 bytes long"),
    ],
)
def test_damage_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DamagedIndex, match=message):
        read(tmp_path, content, "chunked")


def test_chunks_that_are_not_announced_do_not_count(tmp_path: Path) -> None:
    some = [Block(NAMES[0], 65536 * place, 65600) for place in range(4)]
    more = delimited(entry(Block(NAMES[1], 1, 2)))
    assert read(tmp_path, index("chunked", some) + more, "chunked") == totals(some)


def test_it_runs_alone_as_on_a_node(tmp_path: Path) -> None:
    some = [Block(NAMES[0], 65536 * place, 65600) for place in range(4)]
    read(tmp_path, index("streamed", some), "streamed")
    program = Path(cache_index.__file__).read_text(encoding="utf-8")
    command = [sys.executable, "-I", "-", str(tmp_path / "bucketcache.index"), "streamed"]
    process = subprocess.run(command, input=program, capture_output=True, text=True, check=True)
    assert process.stdout == f'{{"{NAMES[0]}": [4, {4 * 65600}]}}'


@pytest.mark.bench
def test_a_million_entries_take_two_seconds_at_most(tmp_path: Path) -> None:
    """It takes about one on an idle machine."""
    chunk = [Block(f"{place % 300:032x}", 65536 * place, 65600 + place % 150) for place in range(10_000)]
    file = tmp_path / "index"
    file.write_bytes(
        index("chunked", chunk, 10_000)[:4]
        + struct.pack(">qq", 10_000, 100)
        + delimited(description(b"".join(map(entry, chunk))))
        + 99 * delimited(b"".join(map(entry, chunk)))
    )
    began = time.process_time()
    assert sum(cached.blocks for cached in cached_files(file, "chunked").values()) == 1_000_000
    assert time.process_time() - began < 2.0
