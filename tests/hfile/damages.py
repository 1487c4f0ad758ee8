"""Damage to a store file, as strategies of Hypothesis: each returns the damaged file and describes the damage."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from random import Random

from hypothesis import strategies as st
from msgspec import Struct

from tests.hfile import synthetic_file
from tests.hfile.damage import Original, mend_checksums, originals, retold
from warmbase.hfile.codec import READABLE, Codec
from warmbase.hfile.metadata import TRAILER_BYTES

WIDTHS = {1: ">b", 2: ">h", 4: ">i", 8: ">q"}
MOST_FLIPS = 6
TRAILER_FIELDS = range(1, 14)


class Damaged(Struct, frozen=True):
    """`what` was done, and what became of it."""

    what: str
    data: bytes

    def __repr__(self) -> str:
        """Without its bytes."""
        return self.what


ORIGINALS = st.sampled_from(sorted(originals())).map(lambda name: originals()[name])


def extremes(width: int, near: int = 0) -> st.SearchStrategy[int]:
    """Numbers of so many bytes at which a reader may go wrong: ends of the range, and about a length that is there."""
    least, most = -(1 << 8 * width - 1), (1 << 8 * width - 1) - 1
    told = {0, 1, 2, 33, least, least + 1, most - 1, most, -1, near - 1, near, near + 1, near // 2}
    return st.sampled_from(sorted(each for each in told if least <= each <= most)) | st.integers(least, most)


@st.composite
def any_bytes(draw: st.DrawFn) -> Damaged:
    """Whatever; half of them with an end such as a store file has."""
    parts = [draw(st.binary(max_size=200)), bytes(draw(st.integers(0, 10_000))), draw(st.binary(max_size=200))]
    seed, noise = draw(st.integers(0, 2**32)), draw(st.sampled_from([0, 4096, 70_000]))
    data = b"".join([*parts, Random(seed).randbytes(noise)])
    if draw(st.booleans()):
        fields = draw(st.dictionaries(st.integers(1, 13), extremes(8, len(data)).map(lambda told: told % 2**64)))
        data += synthetic_file.trailer(list(fields.items()))
    return Damaged(f"{len(data):,} bytes, {noise:,} of them noise {seed}", data)


@st.composite
def cut(draw: st.DrawFn) -> Damaged:
    """Without its end, its beginning, or a piece within."""
    file = draw(ORIGINALS)
    begin, end = sorted((_at(draw, file), draw(st.integers(0, len(file.data)))))
    kept = draw(st.sampled_from(["beginning", "end", "both"]))
    data = {"beginning": file.data[:end], "end": file.data[begin:], "both": file.data[:begin] + file.data[end:]}[kept]
    return _mended(draw, f"{kept} of {file.name}, cut at {begin:,} and {end:,}", data)


@st.composite
def flipped(draw: st.DrawFn) -> Damaged:
    """With some bytes that are others."""
    file = draw(ORIGINALS)
    changed = bytearray(file.data)
    flips = {_at(draw, file): draw(st.integers(1, 255)) for _ in range(draw(st.integers(1, MOST_FLIPS)))}
    for at, flip in flips.items():
        changed[at] ^= flip
    return _mended(draw, f"{file.name} with {flips}", bytes(changed))


@st.composite
def renumbered(draw: st.DrawFn) -> Damaged:
    """With numbers overwritten by extreme ones."""
    file = draw(ORIGINALS)
    changed = bytearray(file.data)
    numbers = {}
    for _ in range(draw(st.integers(1, 3))):
        width = draw(st.sampled_from(sorted(WIDTHS)))
        at = min(_at(draw, file), len(changed) - width)
        numbers[at] = draw(extremes(width, len(changed)))
        changed[at : at + width] = struct.pack(WIDTHS[width], numbers[at])
    return _mended(draw, f"{file.name} with numbers {numbers}", bytes(changed))


@st.composite
def spliced(draw: st.DrawFn) -> Damaged:
    """Return the beginning of one and the end of another, or a piece of one within the other."""
    first, second = draw(ORIGINALS), draw(ORIGINALS)
    upto, begin = _at(draw, first), _at(draw, second)
    length = draw(st.sampled_from([33, 4096, 1 << 20]))
    after = first.data[upto + length :] if draw(st.booleans()) else b""
    data = first.data[:upto] + second.data[begin : begin + length] + after
    return _mended(draw, f"{first.name} to {upto:,}, {length:,} of {second.name} from {begin:,}, {len(after):,}", data)


@st.composite
def trailer_retold(draw: st.DrawFn) -> Damaged:
    """With other numbers in its trailer."""
    file = draw(ORIGINALS)
    numbers = {}
    for number in draw(st.lists(st.sampled_from(TRAILER_FIELDS), min_size=1, max_size=3)):
        near = draw(st.sampled_from([0, _at(draw, file), len(file.data) - TRAILER_BYTES]))
        numbers[number] = draw(extremes(8, near)) % 2**64
    levels = draw(st.sampled_from([0, 1, 2, 3, 16]))
    if draw(st.booleans()):
        numbers[synthetic_file.TRAILER_NUMBERS["levels"]] = levels
    return Damaged(f"{file.name} with a trailer of {numbers}", retold(file.data, numbers))


@st.composite
def restored(draw: st.DrawFn) -> Damaged:
    """A block whose header agrees with itself, and with nothing else: as long as drawn, or holding as much as drawn."""
    file = draw(ORIGINALS)
    [*places] = file.places["block"]
    place = draw(st.sampled_from(places))
    magic = draw(st.sampled_from([file.data[place.start :][:8], synthetic_file.LEAF, synthetic_file.INTERMEDIATE]))
    stored = file.data[place.start + 33 :][: draw(extremes(2, len(place) - 37).map(abs))]
    block = synthetic_file.Block(
        magic=magic,
        stored=stored,
        payload_bytes=draw(extremes(4, len(stored))),
        checksum=draw(st.sampled_from([0, 1, 2])),
        chunk_bytes=draw(st.sampled_from([1, 2, 33, 512, 16384, 2**31 - 1])),
    ).written()
    data = bytearray(file.data)
    data[place.start : place.start + len(block)] = block
    return _mended(draw, f"{file.name} with {block[:33]!r} at {place.start:,}", bytes(data[: len(file.data)]))


@st.composite
def damaged_synthetic(draw: st.DrawFn) -> Damaged:
    """A tree of index blocks, some of which name what they will: later ones, others' ones, themselves, what is not."""
    codec, levels = draw(st.sampled_from(sorted(READABLE))), draw(st.integers(1, 4))
    parts = _tree(levels, draw(st.integers(1, 3)))
    edits = [draw(_edits(len(parts))) for _ in range(draw(st.integers(0, 3)))]
    for edit in edits:
        edit.apply(parts)
    before, [*root] = _written(parts[:-1], parts[-1].names, codec)
    blooms = draw(st.sampled_from([(), (), TWO[:1], TWO[1:], TWO, TWO[::-1], 2 * TWO]))
    file = synthetic_file.File(
        before=before,
        root=synthetic_file.root(root, levels if draw(st.integers(0, 9)) else 5 - levels),
        entries=len(root),
        levels=levels,
        codec=codec,
        blooms=[synthetic_file.bloom(magic) for magic in blooms],
    )
    return Damaged(f"{codec.name} of {levels} levels with {edits}, {len(blooms)} Bloom filters", file.written())


KINDS: Mapping[str, st.SearchStrategy[Damaged]] = {
    "any bytes": any_bytes(),
    "cut": cut(),
    "flipped": flipped(),
    "renumbered": renumbered(),
    "spliced": spliced(),
    "trailer retold": trailer_retold(),
    "restored": restored(),
    "made": damaged_synthetic(),
}

Name = int | synthetic_file.Entry
"""A block that an index names: by its number among all, or by offset and size."""
TWO = (synthetic_file.GENERAL_BLOOM, synthetic_file.DELETE_BLOOM)


class _Part(Struct):
    """A block of a tree, and which ones it names."""

    magic: bytes
    names: list[Name]

    def written(self, codec: Codec, places: Sequence[synthetic_file.Entry]) -> bytes:
        if self.magic == synthetic_file.DATA:
            return synthetic_file.Block(magic=self.magic, payload=bytes(100)).written(codec)
        return synthetic_file.inner(self.magic, _entries(self.names, places)).written(codec)


class _Edit(Struct, frozen=True):
    """One part gets another kind, or another name at that place, or changes its own place."""

    part: int
    at: int
    change: bytes | Name | None

    def apply(self, parts: list[_Part]) -> None:
        part = parts[self.part]
        if self.change is None:
            parts.insert(self.at % len(parts), parts.pop(self.part))
        elif isinstance(self.change, bytes):
            part.magic = self.change
        else:
            at = self.at % (len(part.names) + 1)
            part.names[at : at + 1] = [self.change]


def _edits(parts: int) -> st.SearchStrategy[_Edit]:
    places = st.integers(0, parts - 1)
    magics = st.sampled_from([synthetic_file.DATA, synthetic_file.LEAF, synthetic_file.INTERMEDIATE])
    strange = st.tuples(extremes(8, 200), extremes(4, 200))
    return st.builds(_Edit, places, places, magics | places | strange | st.none())


def _tree(levels: int, width: int) -> list[_Part]:
    """As HBase writes one: each block after those that it names, the root last."""
    parts: list[_Part] = []
    above: list[Name] = []
    for _ in range(width):
        begin = len(parts)
        parts += [_Part(synthetic_file.DATA, []) for _ in range(width)]
        above += range(begin, begin + width)
        if levels > 1:
            parts.append(_Part(synthetic_file.LEAF, [*range(begin, begin + width)]))
            above[-width:] = [len(parts) - 1]
    for _ in range(levels - 2):
        parts.append(_Part(synthetic_file.INTERMEDIATE, above))
        above = [len(parts) - 1]
    return [*parts, _Part(synthetic_file.ROOT, above)]


def _written(parts: Sequence[_Part], root: Sequence[Name], codec: Codec) -> tuple[bytes, list[synthetic_file.Entry]]:
    """Return all of them one after the other, and what the root names."""
    places: list[synthetic_file.Entry] = [(0, 50)] * len(parts)
    blocks: list[bytes] = []
    for _ in range(3):  # where each lies is known once each is as long as it will be
        blocks = [part.written(codec, places) for part in parts]
        places = [(sum(map(len, blocks[:number])), len(block)) for number, block in enumerate(blocks)]
    return b"".join(blocks), _entries(root, places)


def _entries(names: Sequence[Name], places: Sequence[synthetic_file.Entry]) -> list[synthetic_file.Entry]:
    return [places[name % len(places)] if isinstance(name, int) else name for name in names]


def _at(draw: st.DrawFn, file: Original) -> int:
    """A byte of it, of one of the kinds of places that are worth it."""
    kind = draw(st.sampled_from(sorted(file.places)))
    [*places] = file.places[kind]
    place = draw(st.sampled_from(places))
    return draw(st.integers(place.start, place.stop - 1))


def _mended(draw: st.DrawFn, what: str, data: bytes) -> Damaged:
    mends = draw(st.integers(0, 3)) > 0
    return Damaged(f"{what}{', checksums mended' if mends else ''}", mend_checksums(data) if mends else data)
