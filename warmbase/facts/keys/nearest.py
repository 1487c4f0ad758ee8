"""The real keys that an unknown key may be a misspelling of.

A slip is closer than any two keys of different meaning: the same letters with other separators or capitals; one or two
letters; the same parts in another order or number; one part missing or repeated. A part that no real key has there, as
in a coprocessor's own `hbase.mycompany.cache.size`, is not a slip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final

from msgspec import Struct

__all__ = ["near_misses"]

LONG_KEY: Final = 12  # judgement: `hbase.rootdir` is the shortest in which two wrong letters leave one candidate
MOST_EDITS: Final = 2
FEWEST_PARTS: Final = 3  # judgement: with fewer, a forgotten part was most of what the key said
SEPARATORS: Final = str.maketrans("-_", "..")

BIGRAM_BITS: Final = 1021
MOST_BIGRAMS_PER_EDIT: Final = 6
"""A transposition changes three neighbouring pairs of letters into three others; other edits change fewer."""

# Kinds of slips, the nearest first.
SAME_LETTERS: Final = 0
ONE_EDIT: Final = 1
SAME_PARTS: Final = 2
TWO_EDITS: Final = 3
ONE_PART: Final = 4


class _Form(Struct, frozen=True, kw_only=True):
    """A key in the forms by which keys are compared: its letters, its parts, and its pairs of letters as bits."""

    letters: str
    parts: tuple[str, ...]
    sorted_parts: tuple[str, ...]
    bigrams: int


def near_misses(key: str, candidates: Iterable[str], most_edits: int = MOST_EDITS) -> tuple[str, ...]:
    """Return the candidates that a key is a slip of, nearest first; none for a candidate and for an unrelated key.

    `most_edits` is the number of letters that may differ in a long key.
    """
    written = _form(key)
    slips: list[tuple[int, str]] = []
    for candidate in candidates:
        if candidate == key:
            return ()
        slip = _slip(written, _form(candidate), most_edits)
        if slip is not None:
            slips.append((slip, candidate))
    return tuple(candidate for _, candidate in sorted(slips))


def _slip(written: _Form, candidate: _Form, most_edits: int) -> int | None:
    """Return the kind of slip that turns one key into the other, or None."""
    if written.letters == candidate.letters:
        return SAME_LETTERS
    edits = _edits(written, candidate, most_edits if len(written.letters) >= LONG_KEY else 1)
    if edits == 1:
        return ONE_EDIT
    if written.sorted_parts == candidate.sorted_parts:
        return SAME_PARTS
    if edits is not None:
        return TWO_EDITS
    parts = written.parts, candidate.parts
    return ONE_PART if _lacks_part(*parts) or _doubles_part(*parts) else None


def _edits(written: _Form, candidate: _Form, most: int) -> int | None:
    """Return how many letters are inserted, omitted, replaced or swapped with the next; None if too many."""
    if (written.bigrams ^ candidate.bigrams).bit_count() > MOST_BIGRAMS_PER_EDIT * most:
        return None  # decides nearly always, a hundred times faster
    return next((edits for edits in range(1, most + 1) if _within(written.letters, candidate.letters, edits)), None)


def _within(one_text: str, other_text: str, edits: int) -> bool:
    """Return whether this many edits turn one text into the other, without editing a letter twice."""
    start = next((at for at, (one, other) in enumerate(zip(one_text, other_text, strict=False)) if one != other), None)
    at = min(len(one_text), len(other_text)) if start is None else start
    one_text, other_text = one_text[at:], other_text[at:]
    if one_text == other_text:
        return True
    if edits == 0 or abs(len(one_text) - len(other_text)) > edits:
        return False
    return (
        _within(one_text[1:], other_text[1:], edits - 1)
        or _within(one_text[1:], other_text, edits - 1)
        or _within(one_text, other_text[1:], edits - 1)
        or (one_text[:2] == other_text[1::-1] and _within(one_text[2:], other_text[2:], edits - 1))
    )


def _lacks_part(written: tuple[str, ...], candidate: tuple[str, ...]) -> bool:
    """Return whether the written key is the candidate without one part, and has enough parts left."""
    if len(written) != len(candidate) - 1 or len(written) < FEWEST_PARTS:
        return False
    same = next((at for at, part in enumerate(written) if part != candidate[at]), len(written))
    return written[same:] == candidate[same + 1 :]


def _doubles_part(written: tuple[str, ...], candidate: tuple[str, ...]) -> bool:
    """Return whether the written key is the candidate with one part repeated."""
    return _lacks_part(candidate, written) and any(one == other for one, other in pairwise(written))


@cache
def _form(key: str) -> _Form:
    letters = key.lower().translate(SEPARATORS)
    parts = tuple(key.lower().split("."))
    return _Form(
        letters=letters,
        parts=parts,
        sorted_parts=tuple(sorted(map(_singular, parts))),
        bigrams=_bits(pairwise(letters)),
    )


def _bits(pairs: Iterator[tuple[str, str]]) -> int:
    """Return one bit for each pair; pairs that share a bit only make keys look more alike."""
    bits = 0
    for one, other in pairs:
        bits |= 1 << (ord(one) * 31 + ord(other)) % BIGRAM_BITS
    return bits


def _singular(part: str) -> str:
    """Return a part without a plural ending; `class` loses a letter too, in every key alike."""
    return f"{part[:-3]}y" if part.endswith("ies") else part.removesuffix("s")
