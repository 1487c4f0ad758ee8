"""Which known keys somebody may have meant by a key that is not known.

A slip is nearer than any two keys of different meaning: the same letters with other separators or capitals; one or two
letters; the same parts in another order or number; one part forgotten or written twice. A part that no known key has
there, as in a coprocessor's own `hbase.mycompany.cache.size`, is no slip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A key with what two keys are compared by: its letters, its parts, and its pairs of letters as bits."""

    letters: str
    parts: tuple[str, ...]
    sorted_parts: tuple[str, ...]
    bigrams: int


def near_misses(key: str, known: Iterable[str], most_edits: int = MOST_EDITS) -> tuple[str, ...]:
    """The known keys that this one is a slip of, nearest first; none when it is known, or just another key.

    `most_edits` is how many letters may be wrong in a long one.
    """
    given = _form(key)
    found: list[tuple[int, str]] = []
    for each in known:
        if each == key:
            return ()
        slip = _slip(given, _form(each), most_edits)
        if slip is not None:
            found.append((slip, each))
    return tuple(each for _, each in sorted(found))


def _slip(given: _Form, meant: _Form, most_edits: int) -> int | None:
    """The kind of slip that makes the one of the other, or None."""
    if given.letters == meant.letters:
        return SAME_LETTERS
    edits = _edits(given, meant, most_edits if len(given.letters) >= LONG_KEY else 1)
    if edits == 1:
        return ONE_EDIT
    if given.sorted_parts == meant.sorted_parts:
        return SAME_PARTS
    if edits is not None:
        return TWO_EDITS
    return ONE_PART if _lacks_part(given.parts, meant.parts) or _doubles_part(given.parts, meant.parts) else None


def _edits(given: _Form, meant: _Form, most: int) -> int | None:
    """How many letters are inserted, left out, replaced or swapped with the next, if not too many."""
    if (given.bigrams ^ meant.bigrams).bit_count() > MOST_BIGRAMS_PER_EDIT * most:
        return None  # decides nearly always, a hundred times faster
    return next((edits for edits in range(1, most + 1) if _within(given.letters, meant.letters, edits)), None)


def _within(left: str, right: str, edits: int) -> bool:
    """Return whether so many edits make the one text the other, none of them in a letter that was edited before."""
    start = next((at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other), None)
    at = min(len(left), len(right)) if start is None else start
    left, right = left[at:], right[at:]
    if left == right:
        return True
    if edits == 0 or abs(len(left) - len(right)) > edits:
        return False
    return (
        _within(left[1:], right[1:], edits - 1)
        or _within(left[1:], right, edits - 1)
        or _within(left, right[1:], edits - 1)
        or (left[:2] == right[1::-1] and _within(left[2:], right[2:], edits - 1))
    )


def _lacks_part(given: tuple[str, ...], meant: tuple[str, ...]) -> bool:
    """Return whether leaving out one part of what was meant gives what is given, and enough of it remains."""
    if len(given) != len(meant) - 1 or len(given) < FEWEST_PARTS:
        return False
    same = next((at for at, part in enumerate(given) if part != meant[at]), len(given))
    return given[same:] == meant[same + 1 :]


def _doubles_part(given: tuple[str, ...], meant: tuple[str, ...]) -> bool:
    """Return whether a part stands twice in succession, and once would be what was meant."""
    return _lacks_part(meant, given) and any(one == other for one, other in pairwise(given))


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
    """One bit for each pair; where two pairs share one, keys only look more alike than they are."""
    bits = 0
    for one, other in pairs:
        bits |= 1 << (ord(one) * 31 + ord(other)) % BIGRAM_BITS
    return bits


def _singular(part: str) -> str:
    """The part without its plural's end. `class` loses a letter too, in every key alike."""
    return f"{part[:-3]}y" if part.endswith("ies") else part.removesuffix("s")
