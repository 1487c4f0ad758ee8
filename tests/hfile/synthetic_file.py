"""Store files made here, part by part, to say what no HBase would write."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

import cramjam
import google_crc32c
from msgspec import Struct, field

from warmbase.hfile.codec import Codec
from warmbase.hfile.metadata import TRAILER_BYTES

CHUNK_BYTES = 16384
HEADER = struct.Struct(">8siiqBii")
NULL, CRC32, CRC32C = range(3)
OF_CHUNK: Mapping[int, Callable[[bytes], int]] = {NULL: lambda _: 0, CRC32: zlib.crc32, CRC32C: google_crc32c.value}
DATA, LEAF, INTERMEDIATE, ROOT = b"DATABLK*", b"IDXLEAF2", b"IDXINTE2", b"IDXROOT2"
INFO, GENERAL_BLOOM, DELETE_BLOOM = b"FILEINF2", b"BLMFMET2", b"DFBLMET2"
TRAILER_NUMBERS = {"file_info": 1, "load_on_open": 2, "root_entries": 5, "levels": 8, "codec": 12}
"""Fields of FileTrailerProto that opening a file goes by."""

Entry = tuple[int, int]


def checksums(data: bytes, kind: int, chunk_bytes: int) -> bytes:
    """Return the checksums of a block's chunks, one after the other."""
    parts = (data[begin : begin + chunk_bytes] for begin in range(0, len(data), chunk_bytes))
    return b"".join(OF_CHUNK[kind](part).to_bytes(4, "big") for part in parts)


def compressed(codec: Codec, payload: bytes) -> bytes:
    """As HBase's own codecs write it, in one chunk."""
    match codec:
        case Codec.GZ:
            return gzip.compress(payload, mtime=0)
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(payload))
        case Codec.SNAPPY:
            return chunks(len(payload), [bytes(cramjam.snappy.compress_raw(payload))])
        case Codec.LZ4:
            return chunks(len(payload), [bytes(cramjam.lz4.compress_block(payload, store_size=False))])
    return payload


def chunks(together: int, parts: Sequence[bytes]) -> bytes:
    """Hadoop's block stream."""
    return together.to_bytes(4, "big") + b"".join(len(part).to_bytes(4, "big") + part for part in parts)


class Block(Struct, frozen=True, kw_only=True):
    """The content of one block, decompressed; or `stored`, byte for byte, whose header states `payload_bytes`."""

    magic: bytes
    payload: bytes = b""
    stored: bytes | None = None
    payload_bytes: int | None = None
    checksum: int = CRC32C
    chunk_bytes: int = CHUNK_BYTES

    def written(self, codec: Codec = Codec.NONE) -> bytes:
        """With its header and checksums, all of it consistent."""
        stored = compressed(codec, self.payload) if self.stored is None else self.stored
        of_payload = len(self.payload) if self.payload_bytes is None else self.payload_bytes
        data_bytes = HEADER.size + len(stored)
        rest = len(stored) + 4 * math.ceil(data_bytes / self.chunk_bytes)
        head = HEADER.pack(self.magic, rest, of_payload, -1, self.checksum, self.chunk_bytes, data_bytes)
        return head + stored + checksums(head + stored, self.checksum, self.chunk_bytes)


def root(entries: Sequence[Entry], levels: int = 1) -> Block:
    """A root index whose keys have one byte; of several levels it ends with the middle key."""
    named = b"".join(struct.pack(">qi", *entry) + b"\1k" for entry in entries)
    return Block(magic=ROOT, payload=named + bytes(16 if levels > 1 else 0))


def inner(magic: bytes, entries: Sequence[Entry]) -> Block:
    """Return a leaf or an intermediate block of the index."""
    body = [struct.pack(">qi", *entry) + b"k" for entry in entries]
    places = [0, *accumulate(map(len, body))]
    numbers = struct.pack(f">{len(places) + 1}i", len(entries), *places)
    return Block(magic=magic, payload=numbers + b"".join(body))


def varint(number: int) -> bytes:
    """Protobuf's."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def message(fields: Sequence[tuple[int, int | bytes]]) -> bytes:
    """A protobuf message."""
    return b"".join(
        varint(number << 3) + varint(value)
        if isinstance(value, int)
        else varint(number << 3 | 2) + varint(len(value)) + value
        for number, value in fields
    )


def info(values: Mapping[bytes, bytes]) -> Block:
    """A file info."""
    told = message([(1, message([(1, key), (2, value)])) for key, value in values.items()])
    return Block(magic=INFO, payload=b"PBUF" + varint(len(told)) + told)


def bloom(magic: bytes = GENERAL_BLOOM) -> Block:
    """Return what describes a Bloom filter of one chunk."""
    return Block(magic=magic, payload=struct.pack(">iqiiqqi", 3, 64, 5, 1, 10, 20, 1) + bytes(40))


def trailer(fields: Sequence[tuple[int, int | bytes]], version: bytes = b"\3\0\0\3") -> bytes:
    """Return the last bytes of a file."""
    told = message(fields)
    return (b'TRABLK"$' + varint(len(told)) + told).ljust(TRAILER_BYTES - len(version), b"\0") + version


class File(Struct, frozen=True, kw_only=True):
    """A whole file: what lies before its root index, already written, and what opening it reads.

    `numbers` replace those of the trailer that would be right, by the names of TRAILER_NUMBERS.
    """

    before: bytes = b""
    root: Block = field(default_factory=lambda: root([]))
    entries: int = 0
    levels: int = 1
    codec: Codec = Codec.NONE
    info: Block = field(default_factory=lambda: info({b"KEY_VALUE_VERSION": b"\0\0\0\1"}))
    blooms: Sequence[Block] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)

    def written(self) -> bytes:
        """Return all of its bytes."""
        opening = self.root.written(self.codec) + Block(magic=ROOT).written(self.codec)
        right = {
            "file_info": len(self.before) + len(opening),
            "load_on_open": len(self.before),
            "root_entries": self.entries,
            "levels": self.levels,
            "codec": int(self.codec),
        }
        told = {**right, **self.numbers}
        parts = [self.before, opening, self.info.written(self.codec)]
        parts += [each.written(self.codec) for each in self.blooms]
        return b"".join(parts) + trailer([(TRAILER_NUMBERS[name], number) for name, number in told.items()])
