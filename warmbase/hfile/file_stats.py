"""One store file as the calculator needs it: how many data blocks, how long each is in the cache, what goes into L1.

The bytes that the BucketCache takes are known from the index where blocks are not compressed, because it states the
size of each on disk. Where they are compressed, only the headers of blocks say how long these are once decompressed:
those of some blocks are read, and their mean is that of the trailer, which has the sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random
from typing import Final

from msgspec import Struct

from warmbase.ground.block import HEADER_BYTES, cached_bytes
from warmbase.hfile.block import PLACE_BYTES, Entries, data_bytes, joined
from warmbase.hfile.codec import Codec, compressed_size
from warmbase.hfile.cursor import Readable
from warmbase.hfile.metadata import TRAILER_BYTES
from warmbase.hfile.store_file import StoreFile, data_header, data_payload, index_blocks, lowest, opened

ALL: Final = 1 << 62
"""The number of leaves or headers to sample where all are read."""
MOST_LENGTHS: Final = 256  # judgement: told apart in one file; bucket sizes are multiples of 256 bytes
LEAST_STEP_BYTES: Final = 16
LEAST_LEAF_BYTES: Final = HEADER_BYTES + 2 * PLACE_BYTES
Weights = Mapping[int, float]
"""Blocks by cached length."""


class Depth(Struct, frozen=True, kw_only=True):
    """How much of a file is read: so many leaves of its index, one at least, and headers of compressed data blocks.

    Of a file that is not compressed so many data blocks are, to see how far it could be.
    """

    leaves: int
    headers: int
    trials: int = 0


class FileStats(Struct, frozen=True, kw_only=True):
    """`lengths` are of blocks in the cache, decompressed and still encoded, `compressed_lengths` as on disk.

    `rows` are the keys of a ROW Bloom filter, None without one; keys and values are means. `exact` where every data
    block was counted. `trial_bytes` of data blocks became `trial_compressed_bytes` when ZSTD was tried on them.
    """

    size_bytes: int
    codec: str
    encoding: str
    bloom: str
    cells: int
    rows: int | None
    key_bytes: int
    value_bytes: int
    largest_cell_bytes: int
    exact: bool
    lengths: Weights
    compressed_lengths: Weights
    index_bytes: int
    bloom_bytes: int
    trial_bytes: int
    trial_compressed_bytes: int

    @property
    def blocks(self) -> float:
        """Return the number of data blocks."""
        return sum(self.compressed_lengths.values())

    @property
    def cached_bytes(self) -> float:
        """Return what the cache takes for all of them, decompressed, before slots."""
        return sum(length * count for length, count in self.lengths.items())

    @property
    def compressed_bytes(self) -> float:
        """Return the same, with blocks as on disk."""
        return sum(length * count for length, count in self.compressed_lengths.items())


def read_stats(readable: Readable, depth: Depth, random: Random) -> FileStats:
    """Raises Unreadable as `opened`, and where the index or a block that is read is damaged."""
    file = opened(readable)
    sample = _index_sample(readable, file, depth, random)
    bloom = file.general_bloom
    # Compression is tried on some data blocks of a file that does not compress them.
    trials = min(depth.trials, len(sample.entries)) if file.trailer.codec is Codec.NONE else 0
    places = sorted(random.sample(range(len(sample.entries)), trials))
    tried = [data_payload(readable, file, sample.entries, place) for place in places]
    return FileStats(
        size_bytes=file.size_bytes,
        codec=file.trailer.codec.name.lower(),
        encoding=file.info.encoding,
        bloom=file.info.bloom,
        cells=file.trailer.cells,
        rows=bloom.keys if bloom is not None and file.info.bloom == "ROW" else None,
        key_bytes=file.info.number(b"hfile.AVG_KEY_LEN") or 0,
        value_bytes=file.info.number(b"hfile.AVG_VALUE_LEN") or 0,
        largest_cell_bytes=file.info.largest_cell_bytes or 0,
        exact=sample.exact,
        lengths=_lengths(readable, file, sample, depth, random),
        compressed_lengths=_weighed((_cached(file, size) for size in sample.entries.sizes), sample.blocks),
        index_bytes=file.trailer.index_bytes,
        bloom_bytes=file.bloom_bytes,
        trial_bytes=sum(map(len, tried)),
        trial_compressed_bytes=sum(compressed_size(payload) for payload in tried),
    )


class _IndexSample(Struct, frozen=True):
    """Data blocks that the index was read for, of so many; leaves of the index, and what those hold."""

    entries: Entries
    blocks: float
    leaves: int
    leaf_bytes: int

    @property
    def exact(self) -> bool:
        return self.blocks == len(self.entries)


def _index_sample(readable: Readable, file: StoreFile, depth: Depth, random: Random) -> _IndexSample:
    """All data blocks, or those of some leaves: beyond its header a leaf is as long as its entries are many."""
    if file.trailer.index_levels <= 1:
        return _IndexSample(file.root, len(file.root), 0, 0)
    leaves, above_bytes = lowest(readable, file)
    chosen = sorted(random.sample(range(len(leaves)), min(max(1, depth.leaves), len(leaves))))
    entries = joined(file.name, index_blocks(readable, file, leaves, chosen))
    entry_bytes = [max(1, data_bytes(size, file.checksum_chunk_bytes) - LEAST_LEAF_BYTES) for size in leaves.sizes]
    share = sum(entry_bytes[place] for place in chosen) / sum(entry_bytes)
    blocks = len(entries) / share if len(chosen) < len(leaves) else len(entries)
    return _IndexSample(entries, blocks, len(leaves), file.trailer.index_bytes - file.root_bytes - above_bytes)


def _lengths(readable: Readable, file: StoreFile, sample: _IndexSample, depth: Depth, random: Random) -> Weights:
    """Decompressed: what the index says where nothing is compressed, else by the headers of some blocks."""
    entries = sample.entries
    if file.trailer.codec is Codec.NONE:
        return _weighed((_cached(file, size) for size in entries.sizes), sample.blocks)
    places = random.sample(range(len(entries)), min(depth.headers, len(entries)))
    payloads = [data_header(readable, file, entries, place).payload_bytes for place in sorted(places)]
    # The trailer states the decompressed size of all blocks, except the blocks of the index that are written last: the
    # root and the levels between it and the leaves. So the sizes of all other kinds of blocks are subtracted from it.
    leaves = sample.leaf_bytes + HEADER_BYTES * sample.leaves
    blooms = sum(bloom.chunk_bytes + HEADER_BYTES * bloom.chunks for bloom in file.blooms)
    others = TRAILER_BYTES + file.opening_bytes + leaves + blooms
    of_data = max(0.0, file.trailer.total_uncompressed_bytes - others - HEADER_BYTES * sample.blocks)
    mean = of_data / sample.blocks if sample.blocks else 0.0
    if len(payloads) < len(entries):
        scale = mean * len(payloads) / sum(payloads) if sum(payloads) else 1.0
        payloads = [max(1, round(scale * payload)) for payload in payloads] or [max(1, round(mean))]
    return _weighed(map(cached_bytes, payloads), sample.blocks)


def _cached(file: StoreFile, on_disk_bytes: int) -> int:
    """Return the length of a block in the cache, which stores no checksums."""
    return cached_bytes(data_bytes(on_disk_bytes, file.checksum_chunk_bytes) - HEADER_BYTES)


def _weighed(lengths: Iterable[int], blocks: float) -> Weights:
    counted = Counter(lengths)
    weight = blocks / counted.total() if counted else 0.0
    return coarse({length: count * weight for length, count in counted.items()}, MOST_LENGTHS)


def coarse(lengths: Weights, most: int) -> Weights:
    """At most so many lengths, rounded up to steps where there are more: what is planned then holds them."""
    step, coarser = 1, dict(lengths)
    while len(coarser) > most:
        step = max(LEAST_STEP_BYTES, 2 * step)
        coarser = {}
        for length, count in lengths.items():
            up = -(-length // step) * step
            coarser[up] = coarser.get(up, 0.0) + count
    return coarser
