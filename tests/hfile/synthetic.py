"""HBase roots that were never written: the ends of store files are made when they are read, and data is not there."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from random import Random

from msgspec import Struct, field

from warmbase.ground.block import cached_bytes
from warmbase.hfile.cursor import DELETED, Unreadable
from warmbase.hfile.layout import FileEntry

CHUNK = 16_384
TRAILER = 4096
KEY = b"\x00\x0euser0000000001\x01fq" + bytes(8) + b"\x04"
ENTRY_BYTES = 13 + len(KEY)
KINDS = ("even", "odd ones of 3 %", "uneven", "a few huge", "denser when small", "odd ones of 1 %", "a trend")


def varint(number: int) -> bytes:
    """Protobuf's."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))


def message(**fields: int | bytes) -> bytes:
    """Return a message of protobuf; `f3=7` is field 3."""
    parts = []
    for name, value in fields.items():
        number = int(name[1:])
        if isinstance(value, bytes):
            parts.append(varint(number << 3 | 2) + varint(len(value)) + value)
        else:
            parts.append(varint(number << 3) + varint(value))
    return b"".join(parts)


def on_disk_bytes(payload_bytes: int) -> int:
    """Header, payload and checksums."""
    return 33 + payload_bytes + 4 * math.ceil((33 + payload_bytes) / CHUNK)


def block(magic: bytes, payload: bytes) -> bytes:
    """Return a block without a codec, with checksums of kind NULL."""
    data = 33 + len(payload)
    checksums = 4 * math.ceil(data / CHUNK)
    header = magic + struct.pack(">iiqbii", len(payload) + checksums, len(payload), -1, 0, CHUNK, data)
    return header + payload + bytes(checksums)


class Content(Struct, frozen=True, dict=True):
    """The content of a synthetic file: a number of blocks with this payload, each with a number of cells."""

    blocks: int
    payload_bytes: int
    cells: int = 10

    @property
    def size_bytes(self) -> int:
        return self.blocks * on_disk_bytes(self.payload_bytes) + len(ending(self))

    @property
    def cached_bytes(self) -> int:
        return self.blocks * cached_bytes(self.payload_bytes)


@lru_cache(maxsize=4096)
def ending(content: Content) -> bytes:
    """All that follows the data blocks."""
    each = on_disk_bytes(content.payload_bytes)
    entries = (struct.pack(">qi", place * each, each) + bytes([len(KEY)]) + KEY for place in range(content.blocks))
    root = b"".join(entries)
    pairs = {b"hfile.AVG_KEY_LEN": 26, b"hfile.AVG_VALUE_LEN": content.payload_bytes // content.cells}
    info = b"".join(message(f1=message(f1=key, f2=struct.pack(">i", value))) for key, value in pairs.items())
    start = content.blocks * each
    before = block(b"IDXROOT2", root) + block(b"IDXROOT2", b"")
    section = before + block(b"FILEINF2", b"PBUF" + varint(len(info)) + info)
    proto = message(
        f1=start + len(before),
        f2=start,
        f3=len(root),
        f5=content.blocks,
        f7=content.blocks * content.cells,
        f8=1,
        f12=2,
    )
    head = b'TRABLK"$' + varint(len(proto)) + proto
    return section + head.ljust(TRAILER - 4, b"\0") + b"\x03\x00\x00\x03"


class SyntheticFile(Struct, frozen=True, dict=True):
    """One of them, to be read; `seconds` is what a request takes."""

    name: str
    content: Content
    seconds: float = 0.0

    @property
    def size_bytes(self) -> int:
        return self.content.size_bytes

    def read_at(self, offset: int, length: int) -> bytes:
        if self.seconds:
            time.sleep(self.seconds)
        tail, each = ending(self.content), on_disk_bytes(self.content.payload_bytes)
        start = self.size_bytes - len(tail)
        if offset % each == 0 and length == each and offset < start:
            return block(b"DATABLK*", bytes(self.content.payload_bytes))
        # Of data, the end of a file has some that nobody looks at.
        return (
            bytes(min(length, max(0, start - offset))) + tail[max(0, offset - start) : max(0, offset + length - start)]
        )


class SyntheticRoot(Struct, frozen=True, dict=True):
    """A root of such files, by path; others have their bytes."""

    contents: Mapping[str, Content]
    others: Mapping[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0
    url: str = "made:/"

    def files(self) -> Iterator[FileEntry]:
        for path, content in self.contents.items():
            yield FileEntry(path, content.size_bytes, "1")
        for path, data in self.others.items():
            yield FileEntry(path, len(data), "1")

    def readable(self, stored: FileEntry) -> SyntheticFile | Whole:
        if stored.path in self.others:
            return Whole(stored.path, self.others[stored.path])
        return SyntheticFile(stored.path, self.contents[stored.path], self.seconds)


DELETED_NOW = b"gone"
"""A stand-in for the bytes of a file that is deleted before it is read."""


class Whole(Struct, frozen=True, dict=True):
    """A file whose bytes are all there."""

    name: str
    data: bytes

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    def read_at(self, offset: int, length: int) -> bytes:
        if self.data == DELETED_NOW:
            raise Unreadable(self.name, offset, DELETED)
        return self.data[offset : offset + length]


def path(number: int, family: str = "f", table: str = "t", regions: int = 20) -> str:
    """Return the path of a store file."""
    return f"data/default/{table}/{number % regions:032x}/{family}/{number:032x}"


def seeded(seed: int) -> dict[str, Content]:
    """Files of a root: in turn of each kind, 300 to 1,500 of them, in one or two families, sizes ever more skewed."""
    random = Random(seed)
    kind, spread = KINDS[seed % len(KINDS)], [0.5, 1.0, 1.5][seed % 3]
    count = random.choice([300, 700, 1500])
    families = random.choice([("f",), ("f", "g")])
    made = {}
    for number in range(count):
        size = int(random.lognormvariate(13, spread))
        if kind == "a few huge" and number < 5:
            size = 200_000_000
        payload = payload_bytes(kind, size, random)
        if kind == "a trend":
            # Files of one size, which lie in the order of what they hold.
            size, payload = 500_000, 20_000 + 100_000 * number // count
        content = Content(max(1, size // on_disk_bytes(payload)), payload, cells=random.choice([5, 10, 20]))
        made[path(number, families[number % len(families)])] = content
    return made


def payload_bytes(kind: str, size: int, random: Random) -> int:
    """Return the payload of each block of one file."""
    if kind == "uneven":
        return int(66_000 * math.exp(random.gauss(0, 0.5)))
    if kind == "denser when small":
        return int(66_000 * min(2.0, max(0.2, math.exp(0.3 * math.log(size / 5e5)))))
    odd = {"odd ones of 3 %": (0.03, 8_000), "odd ones of 1 %": (0.01, 4_000)}
    if kind in odd and random.random() < odd[kind][0]:
        return odd[kind][1]
    return random.choice([65_600, 65_900, 66_200])
