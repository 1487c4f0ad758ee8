"""What was found in an HBase root, for people: a table for each family, what was left out, what is advised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from cli.change_lines import WIDTH
from hfile.family_totals import FamilyTotals
from hfile.inspection import RootReport
from sizing.family_advice import Advice
from sizing.units import format_percent, format_size

__all__ = ["page"]

NAME, VALUE = 20, 14
MOST_UNREAD: Final = 10
EXACT: Final = 1e-9
OF_BLOCKS: Final = {"blocks", "cached_bytes", "compressed_bytes"}


def page(found: RootReport, advised: Sequence[Advice]) -> Iterator[str]:
    """Lines of at most 80 characters, but for names of files."""
    read = sum(each.files_read for each in found.families)
    of = sum(each.files for each in found.families)
    yield found.root
    yield f"  {found.files:,} files, {format_size(found.size_bytes)}; {read:,} of {of:,} live store files read"
    for family in found.families:
        yield ""
        yield from _family(family)
    yield from _apart(found)
    yield from _unread(found)
    if advised:
        yield from ("", "Advice, by what files say; how they are read, they do not")
        for each in advised:
            yield f"  {each.table} {each.family}: {each.setting}"
            for line in (each.why, f"but: {each.but}"):
                yield from wrap(line, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _family(family: FamilyTotals) -> Iterator[str]:
    yield f"{family.table}, family {family.name}"
    regions = f"{family.regions:,} region{'s' if family.regions != 1 else ''}"
    yield _line("store files", f"{family.files:,}", f"in {regions}, {format_size(family.stored_bytes)}")
    kinds = family.inspected
    if family.unread:
        size = format_size(family.unread_bytes.value)
        yield _line("cannot be read", f"{family.unread:,}", f"count as empty; {size} with their like")
    if kinds is None:
        yield _line("data blocks", "0", "in what could be read")
        return
    of, lengths = family.figures, kinds.lengths
    yield _line("data blocks", f"{of['blocks'].value:,.0f}", _range(family, "blocks", "{:,.0f}".format))
    yield _line("in the cache", format_size(of["cached_bytes"].value), _range(family, "cached_bytes"))
    if kinds.codec != "none":
        size = format_size(of["compressed_bytes"].value)
        yield _line("  compressed there", size, _range(family, "compressed_bytes"))
    yield _line("a block, mean", format_size(lengths.mean_bytes), f"largest {format_size(lengths.largest_bytes)}")
    yield _line("index", format_size(kinds.index_bytes), _range(family, "index_bytes"))
    yield _line("Bloom filters", format_size(kinds.bloom_bytes), _range(family, "bloom_bytes"))
    keys = f"keys of {format_size(kinds.key_bytes)}, values of {format_size(kinds.value_bytes)}, means"
    yield _line("cells", f"{of['cells'].value:,.0f}", keys)
    yield _line("stored as", kinds.codec, f"encoding {kinds.encoding}, Bloom {kinds.bloom or 'NONE'}")
    if family.kind_fraction < 1:
        yield _line("", format_percent(family.kind_fraction), "of what was read is so")


def _line(name: str, value: str, more: str) -> str:
    return f"  {name:<{NAME}}{value:>{VALUE}}  {more}".rstrip()


def _range(family: FamilyTotals, figure: str, said: Callable[[float], str] = format_size) -> str:
    """Within which it is, or that nothing had to be estimated."""
    estimate = family.figures[figure]
    if estimate.relative_error >= EXACT:
        return f"{said(estimate.low)} to {said(estimate.high)}, 95 times of 100"
    return "of all files, by part of their indexes" if family.partly and figure in OF_BLOCKS else "exact"


def _apart(found: RootReport) -> Iterator[str]:
    if found.apart:
        yield from ("", "Left out")
        for kind, (files, size) in found.apart.items():
            if files:
                yield f"  {kind}: {files:,} files, {format_size(size)}"


def _unread(found: RootReport) -> Iterator[str]:
    if found.unread:
        yield from ("", f"Not read: {len(found.unread):,}")
        for path, why in found.unread[:MOST_UNREAD]:
            yield f"  {path}"
            yield from wrap(why, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        if len(found.unread) > MOST_UNREAD:
            yield f"  and {len(found.unread) - MOST_UNREAD:,} more: --output json"
