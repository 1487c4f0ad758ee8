"""Files that no HBase would write: what is said of each, and that nothing is believed that asks for the impossible."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

import cramjam
import pytest

from tests.hfile import synthetic_file
from tests.hfile.damage import NAME, ReadFile, mend_checksums, originals, retold
from tests.hfile.fuzzing import SLACK_BYTES, peak_bytes, refusal, soon
from tests.hfile.synthetic_file import (
    DATA,
    DELETE_BLOOM,
    GENERAL_BLOOM,
    INFO,
    INTERMEDIATE,
    LEAF,
    ROOT,
    Block,
    File,
    bloom,
    chunks,
    info,
    inner,
    root,
)
from tests.hfile.test_damaged_files import reads_or_refuses
from warmbase.hfile.codec import Codec
from warmbase.hfile.cursor import Unreadable
from warmbase.hfile.file_stats import ALL, Depth, read_stats
from warmbase.hfile.store_file import data_blocks, opened

MIB = 1 << 20
LEVELS, ROOT_ENTRIES, FILE_INFO, LOAD_ON_OPEN, CODEC = 8, 5, 1, 2, 12
ONE = originals()["none-none.hfile"].data
TREE = originals()["four-index-levels.hfile"].data
BYTE = bytes(cramjam.snappy.compress_raw(b"x"))
DATA_BLOCK = Block(magic=DATA, payload=bytes(100)).written()


def leaf_over(*entries: synthetic_file.Entry, magic: bytes = LEAF, levels: int = 2) -> bytes:
    """Return one data block, and one block of the index which names that and more, or other ones."""
    leaf = inner(magic, entries or [(0, len(DATA_BLOCK))])
    return over(DATA_BLOCK, leaf.written(), levels)


def over(before: bytes, block: bytes, levels: int) -> bytes:
    """Return a root index that names that one block."""
    named = root([(len(before), len(block))], levels)
    return File(before=before + block, root=named, entries=1, levels=levels).written()


def flat(*entries: synthetic_file.Entry, before: bytes = DATA_BLOCK) -> bytes:
    """Return a root index that names data blocks."""
    return File(before=before, root=root(entries), entries=len(entries)).written()


def of(codec: Codec, stored: bytes, payload_bytes: int) -> bytes:
    """A root index that is stored in that way."""
    return File(codec=codec, root=Block(magic=ROOT, stored=stored, payload_bytes=payload_bytes)).written()


def of_bytes(at: int, new: bytes, data: bytes = ONE) -> bytes:
    """With other bytes there, counted from its end below 0."""
    at %= len(data)
    return data[:at] + new + data[at + len(new) :]


def root_header(at: int, new: bytes) -> bytes:
    """Return a file with other bytes in the header of its root index."""
    return of_bytes(opened(ReadFile(ONE)).trailer.load_on_open_offset + at, new)


def named_by_itself() -> bytes:
    """Return an intermediate block, the only one, that names itself."""
    length = len(inner(INTERMEDIATE, [(0, 0)]).written())
    return over(b"", inner(INTERMEDIATE, [(0, length)]).written(), 16)


def named_by_the_next() -> bytes:
    """Two intermediate blocks of the same level, the second of which names the first."""
    first = leaf_over()[: len(DATA_BLOCK)] + inner(INTERMEDIATE, [(0, len(DATA_BLOCK))]).written()
    begin, length = len(DATA_BLOCK), len(first) - len(DATA_BLOCK)
    second = inner(INTERMEDIATE, [(begin, length)]).written()
    both = root([(begin, length), (len(first), len(second))], 4)
    return File(before=first + second, root=both, entries=2, levels=4).written()


CASES: list[tuple[str, Callable[[], bytes], str]] = [
    ("nothing", lambda: b"", "it has 0 bytes, and a store file has 4,096 at least"),
    ("short", lambda: ONE[-4095:], "it has 4,095 bytes"),
    ("wrong magic", lambda: of_bytes(-4096, b"TRABLK'$"), "no trailer begins here"),
    ("version 2", lambda: of_bytes(-1, b"\2"), "it ends with version 2, and store files have 3"),
    ("minor version below 0", lambda: of_bytes(-4, b"\xff"), "the version is -1"),
    ("cut trailer", lambda: ONE[:-1], "it ends with version 196608, and store files have 3"),
    ("only the trailer", lambda: ONE[-4096:], "and the trailer at 0"),
    ("long trailer", lambda: of_bytes(-4088, b"\xff\x7f"), "the trailer would take 16,383 bytes"),
    ("endless length", lambda: of_bytes(-4088, b"\xff" * 30), "longer than ten bytes"),
    ("wire type", lambda: of_bytes(-4087, b"\x0b"), "field of wire type 3"),
    ("text for a number", lambda: of_bytes(-4088, b"\x03\x0a\x01x"), "file_info_offset of the trailer is no number"),
    ("beyond the file", lambda: retold(ONE, {LOAD_ON_OPEN: len(ONE)}), "begins at 64,798, the file info at"),
    ("far beyond", lambda: retold(ONE, {LOAD_ON_OPEN: 2**64 - 1}), "begins at 18,446,744,073,709,551,615"),
    ("file info elsewhere", lambda: retold(ONE, {FILE_INFO: len(ONE) - 4096}), "the file info begins at 60,702"),
    ("too many levels", lambda: retold(ONE, {LEVELS: 200}), "index of 200 levels, and 0 bytes follow"),
    ("no levels", lambda: retold(ONE, {LEVELS: 0}), "an index of 0 levels"),
    ("a level more", lambda: retold(ONE, {LEVELS: 2}), "index of 2 levels, and 0 bytes follow"),
    ("a level less", lambda: retold(TREE, {LEVELS: 3}), "kind INTERMEDIATE_INDEX, where LEAF_INDEX belongs"),
    ("one level", lambda: retold(TREE, {LEVELS: 1}), "index of 1 levels, and 16 bytes follow"),
    ("an entry less", lambda: retold(TREE, {ROOT_ENTRIES: 1}), "root index is 1 entries of an index of 4 levels"),
    ("entries at will", lambda: retold(ONE, {ROOT_ENTRIES: 2**63}), "entries does not fit into"),
    ("levels over nothing", lambda: File(levels=2, root=root([], 2)).written(), "0 entries of an index of 2"),
    ("unknown codec", lambda: retold(ONE, {CODEC: 99}), "codec 99 is none that we know"),
    ("unread codec", lambda: retold(ONE, {CODEC: 0}), "its blocks are compressed by LZO"),
    ("another codec", lambda: retold(ONE, {CODEC: 1}), "it is no GZ stream"),
    ("no codec", lambda: retold(originals()["zstd-none.hfile"].data, {CODEC: 2}), "and its header says"),
    ("root's magic", lambda: root_header(0, b"IDXROOT9"), "no block begins with b'IDXROOT9'"),
    ("root's kind", lambda: root_header(0, b"IDXLEAF2"), "CRC32C of"),
    ("root's kind, mended", lambda: mend_checksums(root_header(0, LEAF)), "kind LEAF_INDEX, where ROOT_INDEX belongs"),
    ("length below 0", lambda: root_header(8, b"\xff" * 4), "a block's size on disk is -1"),
    ("payload below 0", lambda: root_header(12, b"\x80\0\0\0"), "a block's size is -2,147,483,648"),
    ("data below 0", lambda: root_header(29, b"\xff" * 4), "a block's size without checksums is -1"),
    ("longer than the file", lambda: root_header(8, b"\x7f\xff\xff\xff"), "and their checksums of 16,384 each"),
    ("kind of checksum", lambda: root_header(24, b"\3"), "checksums of kind 3"),
    ("checksums of nothing", lambda: root_header(25, bytes(4)), "for 0 bytes each"),
    ("flipped", lambda: root_header(33, b"\1"), "the CRC32C of"),
    ("file info of 0.94", lambda: File(info=Block(magic=INFO, payload=b"ABCD")).written(), "does not begin with PBUF"),
    (
        "file info cut",
        lambda: File(info=Block(magic=INFO, payload=b"PBUF\x09")).written(),
        "the file info would take 9",
    ),
    (
        "file info with a number",
        lambda: File(info=Block(magic=INFO, payload=b"PBUF\2\x08\1")).written(),
        "has something that is no pair",
    ),
    (
        "pair with a number",
        lambda: File(info=Block(magic=INFO, payload=b"PBUF\4\x0a\2\x08\1")).written(),
        "a pair of the file info has a number",
    ),
    ("encoded index", lambda: File(info=info({b"INDEX_BLOCK_ENCODING": b"X"})).written(), "encoded as X"),
    ("three Bloom filters", lambda: File(blooms=[bloom(), bloom(DELETE_BLOOM), bloom()]).written(), "a block follows"),
    (
        "two of a kind",
        lambda: File(blooms=[bloom(), bloom()]).written(),
        "kind GENERAL_BLOOM_META, where DELETE_FAMILY",
    ),
    (
        "version of a Bloom filter",
        lambda: File(blooms=[Block(magic=GENERAL_BLOOM, payload=struct.pack(">i", 2))]).written(),
        "a Bloom filter of version 2",
    ),
    ("backwards", lambda: flat((50, 50), (0, 50)), "a block of 50 bytes at 0, and there is room from 100"),
    ("below the file", lambda: flat((-1, 50)), "a block of 50 bytes at -1"),
    ("of no length", lambda: flat((0, 0)), "a block of 0 bytes at 0"),
    ("of a length below 0", lambda: flat((0, -5)), "a block of -5 bytes at 0"),
    ("beyond the data", lambda: flat((0, len(DATA_BLOCK) + 1)), "a block of 138 bytes at 0"),
    ("far beyond the data", lambda: flat((2**63 - 1, 2**31 - 1)), "bytes at 9,223,372,036,854,775,807"),
    (
        "key below 0",
        lambda: File(root=Block(magic=ROOT, payload=bytes(12) + b"\x90"), entries=1).written(),
        "would take -",
    ),
    ("leaf beyond the data", lambda: leaf_over((0, 10**6)), "a block of 1,000,000 bytes at 0"),
    ("leaf of later data", lambda: leaf_over((len(DATA_BLOCK), 50)), "and there is room from 0 to 137"),
    ("leaf of nothing", lambda: over(b"", inner(LEAF, []).written(), 2), "an index block of 0 entries"),
    ("leaf by its length", lambda: over(b"", inner(LEAF, [(0, 50)]).written() + bytes(3), 2), "and it ends here"),
    ("itself", named_by_itself, "and there is room from 0 to 0"),
    ("one of its level", named_by_the_next, "and there is room from 0 to 137"),
    (
        "entries below 0",
        lambda: over(b"", Block(magic=LEAF, payload=b"\xff" * 30).written(), 2),
        "entries of a block of the index is -1",
    ),
    (
        "entries backwards",
        lambda: over(b"", Block(magic=LEAF, payload=struct.pack(">i3i", 2, 0, 24, 12) + bytes(30)).written(), 2),
        "2 entries lie from 0 to 12 of",
    ),
    (
        "entries before the first",
        lambda: over(b"", Block(magic=LEAF, payload=struct.pack(">i2i", 1, -12, 12) + bytes(30)).written(), 2),
        "1 entries lie from -12 to 12 of",
    ),
    (
        "entries beyond the last",
        lambda: over(b"", Block(magic=LEAF, payload=struct.pack(">i2i", 1, 0, 31) + bytes(30)).written(), 2),
        "1 entries lie from 0 to 31 of 30 bytes",
    ),
    ("a leaf too early", lambda: leaf_over(levels=3), "kind LEAF_INDEX, where INTERMEDIATE_INDEX belongs"),
    ("promise of GZ", lambda: of(Codec.GZ, b"\x1f\x8b", 2**31 - 1), "2,147,483,647 bytes in so small a file"),
    ("promise of ZSTD", lambda: of(Codec.ZSTD, b"\x28\xb5\x2f\xfd", 10**9), "1,000,000,000 bytes in so small a file"),
    (
        "bomb of GZ",
        lambda: of(Codec.GZ, synthetic_file.compressed(Codec.GZ, bytes(64 * MIB)), 10),
        "and 10 bytes follow them",
    ),
    ("bomb of ZSTD", lambda: of(Codec.ZSTD, bytes(cramjam.zstd.compress(bytes(64 * MIB))), 10), "it is no ZSTD stream"),
    (
        "bomb of SNAPPY",
        lambda: of(Codec.SNAPPY, synthetic_file.compressed(Codec.SNAPPY, bytes(8 * MIB)), 10),
        "and 10 are miss",
    ),
    (
        "bomb of LZ4",
        lambda: of(Codec.LZ4, synthetic_file.compressed(Codec.LZ4, bytes(8 * MIB)), 10),
        "and 10 are missing",
    ),
    (
        "chunk that is a bomb of LZ4",
        lambda: of(
            Codec.LZ4,
            synthetic_file.compressed(Codec.LZ4, bytes(MIB)).replace(MIB.to_bytes(4, "big"), b"\0\0\0\x0a"),
            10,
        ),
        "it is no LZ4 stream",
    ),
    (
        "chunk that is a bomb of SNAPPY",
        lambda: of(Codec.SNAPPY, chunks(10, [bytes(cramjam.snappy.compress_raw(bytes(MIB)))]), 10),
        "it is no SNAPPY stream",
    ),
    ("chunk of nothing", lambda: of(Codec.SNAPPY, chunks(10, [b"\0"]), 10), "a chunk holds nothing"),
    ("chunk that is cut", lambda: of(Codec.LZ4, b"\0\0\0\x0a\0\0\0\x09", 10), "a chunk would take 9 bytes"),
    ("chunk below 0", lambda: of(Codec.LZ4, b"\0\0\0\x0a\xff\xff\xff\xff", 10), "a chunk's length is -1"),
    ("no chunk", lambda: of(Codec.SNAPPY, b"\0\0\0\0" * 9, 10), "0 bytes were compressed together"),
    ("GZ that is short", lambda: of(Codec.GZ, synthetic_file.compressed(Codec.GZ, b"abc"), 4), "GZ gives 3 bytes"),
]


@pytest.mark.parametrize(("data", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_contradicts_itself_is_said(data: Callable[[], bytes], said: str) -> None:
    held = ReadFile(data())
    with soon(), pytest.raises(Unreadable) as raised:
        data_blocks(held, opened(held))
    assert said in str(raised.value)
    assert f"damaged  at byte {raised.value.offset:,}" in str(raised.value)
    reads_or_refuses(held.data)
    assert peak_bytes(lambda: data_blocks(held, opened(held))) <= held.size_bytes + SLACK_BYTES


def test_a_made_file_is_read() -> None:
    """That those above are refused says something only where one that contradicts itself in nothing is not."""
    for made in (leaf_over(), flat((0, len(DATA_BLOCK)))):
        found = read_stats(ReadFile(made), Depth(leaves=ALL, headers=ALL, trials=ALL), Random(0))
        assert found.blocks == 1
        assert found.trial_bytes == 100
    both = File(blooms=[bloom(), bloom(DELETE_BLOOM)]).written()
    assert len(opened(ReadFile(both)).blooms) == 2
    for codec in (Codec.GZ, Codec.ZSTD, Codec.SNAPPY, Codec.LZ4):
        entries = [(137 * number, 137) for number in range(9)]
        file = File(before=DATA_BLOCK * 9, root=root(entries), entries=9, codec=codec).written()
        assert list(opened(ReadFile(file)).root.offsets) == [offset for offset, _ in entries]


def bloom_of_zeros() -> Block:
    """One KiB that is a MiB."""
    return Block(magic=GENERAL_BLOOM, payload=bloom().payload + bytes(MIB))


LARGE: list[tuple[str, Callable[[], bytes]]] = [
    ("checksum of each byte", lambda: File(root=Block(magic=ROOT, payload=bytes(MIB // 4), chunk_bytes=1)).written()),
    ("chunks of a byte", lambda: of(Codec.SNAPPY, chunks(MIB, [BYTE] * (MIB // 4)), MIB)),
    ("chunks together of nothing", lambda: of(Codec.LZ4, bytes(4 * MIB), MIB)),
    ("many small data blocks", lambda: flat(*((33 * at, 33) for at in range(10**5)), before=bytes(33 * 10**5))),
    ("many Bloom filters", lambda: File(codec=Codec.GZ, blooms=[bloom_of_zeros()] * 500).written()),
    ("a long root index", lambda: File(root=Block(magic=ROOT, payload=bytes(16 * MIB))).written()),
    ("a long leaf", lambda: over(b"", inner(LEAF, [(0, 1)] * (MIB // 4)).written(), 2)),
]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(make, id=name, marks=() if name == "chunks of a byte" else pytest.mark.thorough)
        for name, make in LARGE
    ],
)
def test_nothing_takes_longer_or_more_than_it_is_large(data: Callable[[], bytes]) -> None:
    """At most its bytes as they were read, and what a block of them holds."""
    held = ReadFile(data())
    refusal(lambda: data_blocks(held, opened(held)), NAME)
    peak = peak_bytes(lambda: data_blocks(held, opened(held)))
    assert peak <= 2 * held.size_bytes + SLACK_BYTES


class Ends(ReadFile):
    """So much that is not there, and then the bytes."""

    size_bytes: int = 10**12

    def read_at(self, offset: int, length: int) -> bytes:
        """Nothing before its end is to be read."""
        begin = offset - self.size_bytes + len(self.data)
        assert begin >= 0, offset
        return self.data[begin : begin + length]


def test_no_section_is_read_that_is_too_long() -> None:
    """Nothing protects the trailer: of a large file not all is read because a damaged one says that it begins there."""
    with pytest.raises(Unreadable, match="999,999,995,904 bytes would be read on opening it"):
        opened(Ends(bytes(160 * 1024) + retold(ONE, {LOAD_ON_OPEN: 0})))
