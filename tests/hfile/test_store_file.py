"""Every figure of files that a real HBase wrote, against what its own HFilePrettyPrinter says of each."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.hfile.printed import UNREAD, Printed, readable, written
from warmbase.ground.block import cached_bytes
from warmbase.hfile.block import CHECKSUM_BYTES, BlockHeader, data_bytes
from warmbase.hfile.cursor import LocalFile, Unreadable
from warmbase.hfile.file_stats import ALL, Depth, read_stats
from warmbase.hfile.store_file import StoreFile, data_blocks, data_header, opened, tail_bytes

TRAILER = {
    "fileinfoOffset": "file_info_offset",
    "loadOnOpenDataOffset": "load_on_open_offset",
    "dataIndexCount": "root_entries",
    "metaIndexCount": "meta_entries",
    "totalUncomressedBytes": "total_uncompressed_bytes",
    "entryCount": "cells",
    "uncompressedDataIndexSize": "index_bytes",
    "numDataIndexLevels": "index_levels",
    "firstDataBlockOffset": "first_data_block",
    "lastDataBlockOffset": "last_data_block",
    "majorVersion": "major",
    "minorVersion": "minor",
}
KINDS = {"DATA": "DATA", "ENCODED_DATA": "ENCODED_DATA"}
FILES = readable()
NAMES = [file.stem for file in FILES]


def opened_and_printed(file: Path) -> tuple[StoreFile, Printed]:
    return opened(LocalFile(file)), Printed.of(file)


def test_the_matrix_is_whole() -> None:
    """Codecs, encodings, levels of the index, kinds of Bloom filter."""
    found = [opened(LocalFile(file)) for file in FILES]
    assert {each.trailer.codec.name for each in found} == {"NONE", "GZ", "SNAPPY", "LZ4", "ZSTD"}
    assert {each.info.encoding for each in found} == {"NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"}
    assert {each.trailer.index_levels for each in found} == {1, 2, 3, 4}
    assert {each.info.bloom for each in found} == {"NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"}
    assert {len(each.blooms) for each in found} == {0, 1, 2}
    assert max(bloom.chunks for file in found for bloom in file.blooms) > 2
    assert len(FILES) > 50
    assert sum(file.stat().st_size for file in written()) < 5_000_000


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_the_trailer_is_as_hbase_prints_it(file: Path) -> None:
    found, printed = opened_and_printed(file)
    has = {theirs: getattr(found.trailer, ours) for theirs, ours in TRAILER.items()}
    # HBase prints an offset that was never set as -1, and the file has none or all ones of 64 bits.
    says = {theirs: int(printed.trailer(theirs)) % 2**64 for theirs in TRAILER}
    assert has == says
    assert found.trailer.codec.name == printed.trailer("compressionCodec")
    assert found.size_bytes == file.stat().st_size


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_the_file_info_is_as_hbase_prints_it(file: Path) -> None:
    found, printed = opened_and_printed(file)
    assert {key.decode() for key in found.info.values} == printed.info.keys()
    for key, text in printed.info.items():
        value = found.info.number(key.encode())
        if text.lstrip("-").isdigit() and value is not None:
            assert value == int(text), key
    assert found.info.encoding == printed.info.get("DATA_BLOCK_ENCODING", "NONE")
    assert found.info.bloom == printed.info.get("BLOOM_FILTER_TYPE", "NONE")


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_bloom_filters_are_as_hbase_prints_them(file: Path) -> None:
    found, printed = opened_and_printed(file)
    says = [each for each in map(printed.bloom, ("Bloom filter", "Delete Family Bloom filter")) if each]
    has = [
        {
            "BloomSize": bloom.chunk_bytes,
            "No of Keys in bloom": bloom.keys,
            "Max Keys for bloom": bloom.most_keys,
            "Percentage filled": round(100 * bloom.keys / bloom.most_keys),
            "Number of chunks": bloom.chunks,
        }
        for bloom in found.blooms
    ]
    assert has == says
    assert found.general_bloom is None or printed.bloom("Bloom filter") is not None


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_every_data_block_is_as_hbase_prints_it(file: Path) -> None:
    found, printed = opened_and_printed(file)
    source = LocalFile(file)
    entries = data_blocks(source, found)
    has = [data_header(source, found, entries, place) for place in range(len(entries))]
    says = [block for block in printed.blocks if block["blockType"] in KINDS]
    assert [_as_printed(each) for each in has] == [{key: say[key] for key in _as_printed(has[0])} for say in says]


def _as_printed(header: BlockHeader) -> dict[str, str]:
    checksums = header.on_disk_bytes - header.data_bytes
    return {
        "blockType": header.kind,
        "fileOffset": str(header.offset),
        "onDiskSizeWithoutHeader": str(header.on_disk_bytes - 33),
        "uncompressedSizeWithoutHeader": str(header.payload_bytes),
        "prevBlockOffset": str(header.previous),
        "checksumType": header.checksum.name,
        "bytesPerChecksum": str(header.checksum_chunk_bytes),
        "onDiskDataSizeWithHeader": str(header.data_bytes),
        "getOnDiskSizeWithHeader": str(header.on_disk_bytes),
        "totalChecksumBytes": str(checksums),
    }


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_cached_lengths_are_those_of_the_headers_that_hbase_prints(file: Path) -> None:
    found = read_stats(LocalFile(file), Depth(leaves=ALL, headers=ALL), Random(1))
    blocks = [block for block in Printed.of(file).blocks if block["blockType"] in KINDS]
    assert found.exact
    assert found.blocks == len(blocks)
    assert found.cached_bytes == sum(cached_bytes(int(block["uncompressedSizeWithoutHeader"])) for block in blocks)
    assert found.compressed_bytes == sum(cached_bytes(int(block["onDiskDataSizeWithHeader"]) - 33) for block in blocks)


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_the_mean_length_is_known_without_all_headers(file: Path) -> None:
    """The trailer sums what all blocks hold; the headers of three say how their lengths are spread."""
    whole = read_stats(LocalFile(file), Depth(leaves=ALL, headers=ALL), Random(1))
    some = read_stats(LocalFile(file), Depth(leaves=ALL, headers=3), Random(1))
    assert some.blocks == whole.blocks
    assert some.cached_bytes == pytest.approx(whole.cached_bytes, abs=whole.blocks)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["three-index-levels", "four-index-levels", "three-index-levels-zstd"])
def test_some_leaves_say_how_many_blocks_there_are(name: str, seed: int) -> None:
    [file] = [each for each in FILES if each.stem == name]
    whole = read_stats(LocalFile(file), Depth(leaves=ALL, headers=0), Random(1))
    some = read_stats(LocalFile(file), Depth(leaves=4, headers=0), Random(seed))
    assert not some.exact
    assert some.blocks == pytest.approx(whole.blocks, rel=0.11)


def test_means_of_leaves_are_without_bias() -> None:
    [file] = [each for each in FILES if each.stem == "two-index-levels"]
    found = [read_stats(LocalFile(file), Depth(leaves=2, headers=0), Random(seed)).blocks for seed in range(300)]
    assert sum(found) / len(found) == pytest.approx(64, rel=0.01)


@pytest.mark.parametrize(
    ("stem", "why"),
    [
        ("encrypted", "it is encrypted"),
        ("encrypted-snappy-diff", "it is encrypted"),
        ("prefix-tree-index", "blocks of its index are encoded as PREFIX_TREE"),
    ],
)
def test_what_is_not_read_is_said(stem: str, why: str) -> None:
    [file] = [each for each in written() if each.stem == stem]
    with pytest.raises(Unreadable, match=why) as raised:
        opened(LocalFile(file))
    assert raised.value.exit_code == 2
    assert str(file) in str(raised.value)


def test_what_is_not_read_is_listed() -> None:
    assert {file.stem for file in written()} - {file.stem for file in FILES} == UNREAD


@pytest.mark.parametrize("chunk_bytes", [512, 16_384])
def test_data_is_what_a_block_has_beside_a_checksum_for_each_chunk(chunk_bytes: int) -> None:
    for length in range(33, 5 * chunk_bytes):
        checksums = -(-length // chunk_bytes)
        assert data_bytes(length + CHECKSUM_BYTES * checksums, chunk_bytes) == length


def test_the_tail_that_is_read_first_holds_a_root_index_of_one_level() -> None:
    """The trailer, and 80 bytes for each block of 64 KiB while the index has one level."""
    for size_bytes in (1 << 20, 16 << 20, 64 << 20, 96 << 20):
        assert 4096 + 80 * (size_bytes >> 16) <= tail_bytes(size_bytes) <= 160 * 1024
    assert tail_bytes(1 << 30) == 160 * 1024
