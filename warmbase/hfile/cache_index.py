"""Reads the persisted index of a BucketCache: the blocks and bytes of each HFile that the cache has.

The module also runs alone on a node, where Python is 3.9 and has only its own library: `cache_index.py FILE FORMAT`
prints one JSON document. HBase's BucketCacheEntry.proto describes the messages. An entry is 76 bytes long, and a cache
of 860 GiB has 14 million of them; therefore one regular expression reads the entries, and their lengths are checked on
the distinct ones.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

MAGIC = b"V2UF"
UNCHUNKED_MAGIC = b"PBUF"
# HBase 2.6.1 to 2.6.4 write the blocks of a chunk and the number of chunks before the chunks.
CHUNKS = struct.Struct(">qq")
LENGTH_BYTES = 5  # protobuf writes the length of a message, an int32, in at most 5 bytes of 7 bits each
BACKING_MAP = 5
LAST_BYTE = 0x80  # a number's bytes below this one end it
WITH_LENGTH = 2  # protobuf's wire type of strings and messages

LONGEST_VARINT = 10  # protobuf writes 64 bits in at most ten bytes; a longer run of bytes is damage
VARINT = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
LENGTH = rb"[\x80-\xff]?[\x00-\x7f]"
# The key: hfilename, offset, block_type, primary_replica_block; later releases add region_name, family_name, archived.
# The value: offset, length, access_counter, deserialiser_index, priority, cachedTime, disk_size_with_header.
# Two groups: the lengths of entry, key and name with the name, and the value until its length.
ENTRY = re.compile(
    rb"(\n%(length)s\n%(length)s\n%(length)s[!-~]+)\x10%(varint)s\x18%(varint)s\x20[\x00\x01]"
    rb"(?:\x2a(?:\x20[0-9a-f]{32}|\x0a[0-9]{10}))?(?:\x32%(length)s[!-~]+?)?(?:\x38[\x00\x01])?"
    rb"(\x12%(length)s\x08%(varint)s\x10%(varint)s)\x18%(varint)s\x20%(varint)s\x28%(varint)s\x30%(varint)s"
    rb"(?:\x38%(varint)s)?" % {b"length": LENGTH, b"varint": VARINT}
)


class DamagedIndex(ValueError):
    """The file is not a whole index: it was cut off, has a hole, or is of a release that writes another form."""


class CachedFile(NamedTuple):
    """The part of one HFile that a cache has. `size_bytes` is what its blocks take in the cache."""

    blocks: int
    size_bytes: int


def cached_files(index: Path, index_format: str) -> dict[str, CachedFile]:
    """Return the cached part of each HFile, by the name of the file, which HBase chooses at random.

    `index_format` is chunked (HBase 2.6.1 to 2.6.4) or streamed (2.6.5 and later). Of a chunked index only the
    announced chunks count, because HBase reads no others. Raises DamagedIndex, or OSError where it cannot be read.
    """
    entries: Counter[tuple[bytes, bytes]] = Counter()
    total_bytes = 0
    with index.open("rb") as file:
        for number, message in enumerate(messages(file, index_format), 1):
            area = backing_map(message, number)
            entries.update(ENTRY.findall(area))
            total_bytes += len(area)
    return summed(entries, total_bytes)


def messages(file: BinaryIO, index_format: str) -> Iterator[bytes]:
    """Yield each message that counts. Raises DamagedIndex where one is missing or cut off."""
    magic = file.read(len(MAGIC))
    if magic not in (MAGIC, UNCHUNKED_MAGIC):
        raise DamagedIndex(f"it begins with {magic!r}, not {MAGIC!r}")
    announced = None
    if magic == MAGIC and index_format == "chunked":
        numbers = file.read(CHUNKS.size)
        if len(numbers) < CHUNKS.size:
            raise DamagedIndex("it ends before its number of chunks")
        announced = CHUNKS.unpack(numbers)[1]
        if announced < 1:
            raise DamagedIndex(f"it announces {announced} chunks")
    count = 0
    while count != announced:
        message = next_message(file, count + 1)
        if message is None:
            break
        count += 1
        yield message
    if count < (announced or 1):
        raise DamagedIndex(f"it has {count} of {announced or 1} messages")


def next_message(file: BinaryIO, number: int) -> bytes | None:
    """Return the next message; None at the end of the file. Raises DamagedIndex where it is cut off or empty."""
    length = 0
    for position in range(LENGTH_BYTES):
        byte = file.read(1)
        if not byte:
            if position:
                break
            return None
        length |= (byte[0] & 0x7F) << (7 * position)
        if byte[0] < LAST_BYTE:
            # Every chunk has at least one block, so an empty message is a hole in the file.
            if not 0 < length <= os.fstat(file.fileno()).st_size - file.tell():
                break
            return file.read(length)
    raise DamagedIndex(f"message {number}, before byte {file.tell()}, is cut off or has no length")


def backing_map(message: bytes, number: int) -> bytes:
    """Return the entries of a message: it is a BackingMap, or describes the cache and has one as its fifth field."""
    if message.startswith(b"\n"):
        return message
    position, area = 0, b""
    try:
        while position < len(message):
            tag, position = varint(message, position)
            value, position = varint(message, position)
            if not tag >> 3:
                raise DamagedIndex(f"message {number} has a field 0, which no message has")
            if tag & 7 == WITH_LENGTH:
                value, position = position, position + value
                if tag >> 3 == BACKING_MAP:
                    area = message[value:position]
            elif tag & 7:
                raise DamagedIndex(f"message {number} has an unknown field {tag >> 3}")
    except IndexError:
        position = -1
    if position != len(message):
        raise DamagedIndex(f"message {number} does not end where its last field does")
    return area


def varint(text: bytes, position: int) -> tuple[int, int]:
    """Return the number at that position and the position after it. Raises IndexError at the end of the text."""
    number = 0
    for shift in range(0, 7 * LONGEST_VARINT, 7):
        byte = text[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < LAST_BYTE:
            return number, position
    raise DamagedIndex(f"a number before byte {position} of a message is longer than {LONGEST_VARINT} bytes")


def summed(entries: Mapping[tuple[bytes, bytes], int], total_bytes: int) -> dict[str, CachedFile]:
    """Return the sums over the entries of each file. Raises DamagedIndex where lengths contradict each other."""
    files: dict[str, CachedFile] = {}
    counted_bytes = 0
    for (head, tail), count in entries.items():
        entry_bytes, after = varint(head, 1)
        body = after
        key_bytes, after = varint(head, after + 1)
        name_bytes, start = varint(head, after + 1)
        value_bytes, value = varint(tail, 1)
        _, after_offset = varint(tail, value + 1)
        size, _ = varint(tail, after_offset + 1)
        name = head[start:]
        key_head = after - body
        if name_bytes != len(name) or entry_bytes != key_head + key_bytes + value + value_bytes:
            raise DamagedIndex(f"an entry of {name.decode()} contradicts its lengths")
        counted_bytes += count * (body + entry_bytes)
        known = files.get(name.decode(), CachedFile(0, 0))
        files[name.decode()] = CachedFile(known.blocks + count, known.size_bytes + count * size)
    if counted_bytes != total_bytes:
        raise DamagedIndex(f"its entries have lengths for {counted_bytes} bytes and are {total_bytes} bytes long")
    return files


if __name__ == "__main__":
    sys.stdout.write(json.dumps(cached_files(Path(sys.argv[1]), sys.argv[2])))
