"""The codecs that compress HBase's blocks, in the frames in which Hadoop writes them.

SNAPPY and LZ4 lie in Hadoop's block stream: the length of what was compressed together, then chunks, each after its
length. ZSTD lies there too when HBase's own codec wrote it, and is one plain frame when Hadoop's did. GZ is a gzip
stream. Sources: Hadoop BlockCompressorStream, HBase 2.6 Compression.Algorithm.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import Final

import cramjam

from warmbase.hfile.cursor import Cursor

GZIP_WINDOW: Final = 31  # zlib: the largest window, in a gzip stream
ZSTD_LEVEL: Final = 3  # Hadoop CommonConfigurationKeys.IO_COMPRESSION_CODEC_ZSTD_LEVEL_DEFAULT
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
Decompress = Callable[[bytes | memoryview, memoryview], int]
"""Into what room there is; returns how much of it was taken."""


class Codec(IntEnum):
    """By the ordinal that a trailer has. Source: HBase 2.6 Compression.Algorithm."""

    LZO = 0
    GZ = 1
    NONE = 2
    SNAPPY = 3
    LZ4 = 4
    BZIP2 = 5
    ZSTD = 6
    LZMA = 7
    BROTLI = 8


READABLE: Final = frozenset({Codec.NONE, Codec.GZ, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD})
"""Those whose blocks we decompress."""


OF_CHUNKS: Final[dict[Codec, Decompress]] = {
    Codec.SNAPPY: cramjam.snappy.decompress_raw_into,
    Codec.LZ4: cramjam.lz4.decompress_block_into,
    Codec.ZSTD: cramjam.zstd.decompress_into,
}


def decompressed(codec: Codec, data: Cursor, size: int) -> bytes:
    """Return the `size` bytes that `data` decompresses to. Raises Unreadable where it does not.

    It never takes more memory than those bytes.
    """
    if codec is Codec.NONE and size != data.remaining_bytes:
        data.fail(f"a block that is not compressed holds {data.remaining_bytes:,} bytes, and its header says {size:,}")
    if codec is Codec.NONE:
        return data.take(size, "the block")
    compressed = data.view(data.remaining_bytes, "the block")
    inner = Cursor(data.name, data.offset - len(compressed), compressed)
    try:
        if codec is Codec.GZ:
            stream = inner.view(inner.remaining_bytes, "gzip")
            payload = zlib.decompressobj(GZIP_WINDOW).decompress(stream, max(1, size))
        elif codec is Codec.ZSTD and bytes(compressed[: len(ZSTD_MAGIC)]) == ZSTD_MAGIC:
            output = memoryview(bytearray(size))
            payload = bytes(output[: cramjam.zstd.decompress_into(inner.view(inner.remaining_bytes, "zstd"), output)])
        else:
            payload = _chunks(inner, size, OF_CHUNKS[codec])
    except (zlib.error, cramjam.DecompressionError, ValueError, BufferError) as error:
        inner.fail(f"it is no {codec.name} stream: {error}")
    if len(payload) != size:
        inner.fail(f"{codec.name} gives {len(payload):,} bytes, and its header says {size:,}")
    return payload


def compressed_size(data: bytes) -> int:
    """Bytes of it when ZSTD compresses it, at the level that HBase takes unless told otherwise."""
    return len(bytes(cramjam.zstd.compress(data, ZSTD_LEVEL)))


def _chunks(data: Cursor, size: int, decompress: Decompress) -> bytes:
    """Hadoop's block stream: so long as the block is not whole, a length of several chunks, and these."""
    output = memoryview(bytearray(size))
    whole = 0
    while whole < size:
        together = data.count(4, "what was compressed together")
        if not 0 < together <= size - whole:
            data.fail(f"{together:,} bytes were compressed together, and {size - whole:,} are missing")
        end = whole + together
        while whole < end:
            chunk = data.view(data.count(4, "a chunk's length"), "a chunk")
            written = decompress(chunk, output[whole:end])
            if not written:
                data.fail("a chunk holds nothing")
            whole += written
    return bytes(output)
