"""The report on an HBase root as text: a table for each family, the files left out, and advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from cli.change_lines import WIDTH
from hfile.family_totals import FamilyTotals
from hfile.inspection import RootReport
from sizing.family_advice import Advice
from sizing.units import format_percent, format_size

NAME, VALUE = 20, 14
MOST_UNREAD: Final = 10
EXACT: Final = 1e-9
OF_BLOCKS: Final = {"blocks", "cached_bytes", "compressed_bytes"}


def page(report: RootReport, advised: Sequence[Advice]) -> Iterator[str]:
    """Yield the report in lines of at most 80 characters; only file names may be longer."""
    read = sum(family.files_read for family in report.families)
    of = sum(family.files for family in report.families)
    yield report.root
    yield f"  {report.files:,} files, {format_size(report.size_bytes)}; {read:,} of {of:,} live store files read"
    for family in report.families:
        yield ""
        yield from _family(family)
    yield from _apart(report)
    yield from _unread(report)
    if advised:
        yield from ("", "Advice, from the files alone: they do not show how the data is read")
        for item in advised:
            yield f"  {item.table} {item.family}: {item.setting}"
            for line in (item.why, f"but: {item.but}"):
                yield from wrap(line, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _family(family: FamilyTotals) -> Iterator[str]:
    yield f"{family.table}, family {family.name}"
    regions = f"{family.regions:,} region{'s' if family.regions != 1 else ''}"
    yield _line("store files", f"{family.files:,}", f"in {regions}, {format_size(family.stored_bytes)}")
    kinds = family.inspected
    if family.unread:
        size = format_size(family.unread_bytes.value)
        yield _line("cannot be read", f"{family.unread:,}", f"counted as empty; estimated {size}")
    if kinds is None:
        yield _line("data blocks", "0", "in the files that could be read")
        return
    of, lengths = family.figures, kinds.lengths
    yield _line("data blocks", f"{of['blocks'].value:,.0f}", _range(family, "blocks", "{:,.0f}".format))
    yield _line("in the cache", format_size(of["cached_bytes"].value), _range(family, "cached_bytes"))
    if kinds.codec != "none":
        size = format_size(of["compressed_bytes"].value)
        yield _line("  compressed there", size, _range(family, "compressed_bytes"))
    yield _line("mean block", format_size(lengths.mean_bytes), f"largest {format_size(lengths.largest_bytes)}")
    yield _line("index", format_size(kinds.index_bytes), _range(family, "index_bytes"))
    yield _line("Bloom filters", format_size(kinds.bloom_bytes), _range(family, "bloom_bytes"))
    keys = f"mean key {format_size(kinds.key_bytes)}, mean value {format_size(kinds.value_bytes)}"
    yield _line("cells", f"{of['cells'].value:,.0f}", keys)
    yield _line("stored as", kinds.codec, f"encoding {kinds.encoding}, Bloom {kinds.bloom or 'NONE'}")
    if family.kind_fraction < 1:
        yield _line("", format_percent(family.kind_fraction), "of the files read are like this")


def _line(name: str, value: str, more: str) -> str:
    return f"  {name:<{NAME}}{value:>{VALUE}}  {more}".rstrip()


def _range(family: FamilyTotals, figure: str, formatted: Callable[[float], str] = format_size) -> str:
    """Return the 95 % confidence interval of a figure, or that the figure is exact."""
    estimate = family.figures[figure]
    if estimate.relative_error >= EXACT:
        return f"{formatted(estimate.low)} to {formatted(estimate.high)} (95 %)"
    return "of all files, from part of their indexes" if family.partly and figure in OF_BLOCKS else "exact"


def _apart(report: RootReport) -> Iterator[str]:
    if report.apart:
        yield from ("", "Left out")
        for kind, (files, size) in report.apart.items():
            if files:
                yield f"  {kind}: {files:,} files, {format_size(size)}"


def _unread(report: RootReport) -> Iterator[str]:
    if report.unread:
        yield from ("", f"Not read: {len(report.unread):,}")
        for path, why in report.unread[:MOST_UNREAD]:
            yield f"  {path}"
            yield from wrap(why, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        if len(report.unread) > MOST_UNREAD:
            yield f"  and {len(report.unread) - MOST_UNREAD:,} more; see --output json"
