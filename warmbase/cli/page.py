"""One page of text for people: lines, paragraphs, labelled rows and tables, laid out in one way for every command.

A command yields the parts of its page, and `Page` turns them into lines. A text may come from outside: each character
that a terminal could take for a command is escaped, and styles are added afterwards. Tables are laid out here, because
rich would take longer to load than most pages take to print.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

import click
from msgspec import Struct

from warmbase.cli.terminal import printable_lines
from warmbase.ground.units import printable

MOST_COLUMNS: Final = 120
"""Longer lines are hard to read, however wide the terminal is."""
NO_BREAK: Final = "\N{NO-BREAK SPACE}"
"""A blank at which no line is broken; it is printed as a plain one."""
GAP: Final = 2
"""The blanks between two columns of a table."""
Style = Mapping[str, Any]
"""Arguments of `click.style`."""


class Styled(Struct, frozen=True):
    """Texts, each in a style of its own; `+` appends one without a style."""

    spans: tuple[tuple[str, Style], ...]

    def __add__(self, text: str | Styled) -> Styled:
        return Styled((*self.spans, *(((text, {}),) if isinstance(text, str) else text.spans)))


Text = str | Styled


def styled(text: str, **style: str | bool | None) -> Styled:
    """Return the text in a style."""
    return Styled(((text, style),))


class Paragraph(Struct, frozen=True, kw_only=True):
    """A text in as many lines as it needs; `hanging` is how much further its later lines are indented."""

    text: Text
    indent: int = 0
    hanging: int = 0


class Column(Struct, frozen=True, kw_only=True):
    """A column of a table; a flexible one takes the width that the others leave, and a whole one is never wrapped."""

    heading: Text = ""
    right: bool = False
    flexible: bool = False
    whole: bool = False
    least: int = 0
    style: Style = {}


class Table(Struct, frozen=True, kw_only=True):
    """Rows of cells, below the headings of their columns if these have any; a wide table fills the page.

    The last cell of a row that is too short extends to the end of the line.
    """

    columns: Sequence[Column]
    rows: Iterable[Sequence[Text]]
    indent: int = 0
    wide: bool = False


Row = tuple[str, str]
"""A label and its text; a row without a label continues the one before it."""
Part = Text | tuple[str, Text] | Paragraph | Table
"""A part of a page. A text by itself is one line, however long: a path that is cut in two cannot be copied."""


class Page(Struct, frozen=True, kw_only=True):
    """The layout of a page: its columns, and the indent, width and accent (a style's fg) of its labels.

    `cut` says whether a word of a row that is longer than a line is cut; otherwise it stays whole, to be copied.
    """

    columns: int = 80
    indent: int = 2
    label: int = 10
    accent: str | None = None
    cut: bool = False

    def text(self, parts: Iterable[Part]) -> str:
        """Return the page."""
        return "\n".join(self.lines(parts))

    def show(self, parts: Iterable[Part], *, err: bool = False) -> None:
        """Print the page, without styles if it is not for a terminal or if NO_COLOR is set."""
        click.echo(self.text(parts), err=err, color=not os.environ.get("NO_COLOR") and (sys.stdout.isatty() or None))

    def lines(self, parts: Iterable[Part]) -> list[str]:
        """Return the lines of the page."""
        return [line.rstrip() for part in parts for line in self._lines(part)]

    def _lines(self, part: Part) -> Iterable[str]:
        if isinstance(part, str):
            return printable_lines(part).split("\n")
        if isinstance(part, Styled):
            return _wrapped(part, sys.maxsize)
        if isinstance(part, Paragraph):
            indents = (" " * part.indent, " " * (part.indent + part.hanging))
            return _wrapped(part.text, self.columns, *indents, cut=True)
        if isinstance(part, Table):
            return _table_lines(part, self.columns)
        label, text = part
        margin = self.indent + self.label
        first, *others = _wrapped(text, self.columns - margin, cut=self.cut)
        start = f"{' ' * self.indent}{printable(label):<{self.label}}"
        start = click.style(start, fg=self.accent) if self.accent and label else start
        return [start + first, *(" " * margin + other for other in others)]


PROPOSAL: Final = Page(indent=0, columns=sys.maxsize)
"""The layout of the short proposals of commands that end or unlock something; their lines stay whole."""


def summary_page() -> Page:
    """Return the layout of a page as wide as the terminal, with coloured labels at its left edge."""
    return Page(columns=page_columns(), indent=0, label=13, accent="cyan", cut=True)


def rows_table(rows: Iterable[Sequence[Text]], *headings: str) -> Table:
    """Return labels with their texts, in columns of equal width below their headings; the labels need the least."""
    labels = Column(style={"fg": "cyan"}, whole=True)
    return Table(
        columns=(labels, *(Column(heading=heading, flexible=True) for heading in headings or ("",))), rows=rows
    )


def page_columns() -> int:
    """Return how many columns a page may take: those of the terminal, and 120 at most."""
    return min(shutil.get_terminal_size().columns, MOST_COLUMNS)


def _wrapped(text: Text, width: int, first: str = "", later: str = "", *, cut: bool = False) -> list[str]:
    """Return the text in lines of that width with these indents; a word that is longer than a line is cut if asked."""
    spans = [
        (NO_BREAK.join(map(printable, span.split(NO_BREAK))), style)
        for span, style in (text.spans if isinstance(text, Styled) else ((text, {}),))
    ]
    plain, position, lines = "".join(span for span, _ in spans), 0, list[str]()
    for line in wrap(
        plain, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False, break_long_words=cut
    ):
        indent = later if lines else first
        position = plain.index(line[len(indent) :], position)
        end = position + len(line) - len(indent)
        lines.append(indent + "".join(_between(spans, position, end)).replace(NO_BREAK, " "))
        position = end
    return lines or [first]


def _between(spans: Sequence[tuple[str, Style]], start: int, end: int) -> Iterator[str]:
    """Yield what the spans have between two positions, in their styles."""
    for text, style in spans:
        if part := text[max(0, start) : max(0, end)]:
            yield click.style(part, **style) if style else part
        start, end = start - len(text), end - len(text)


def _table_lines(table: Table, columns: int) -> Iterator[str]:
    styles = [column.style for column in table.columns]
    rows = [[_styled(cell, style) for cell, style in zip(row, styles, strict=False)] for row in table.rows]
    if any(column.heading for column in table.columns):
        rows.insert(0, [_styled(column.heading, {"dim": True}) for column in table.columns])
    widths = _widths(table, rows, columns)
    for row in rows:
        room = [*widths[: len(row) - 1], columns if len(row) < len(widths) else widths[-1]]
        cells = [_wrapped(cell, width, cut=True) for cell, width in zip(row, room, strict=True)]
        for number in range(max(map(len, cells))):
            line = ""
            for lines, column, width in zip(cells, table.columns, widths, strict=False):
                text = lines[number] if number < len(lines) else ""
                padding = " " * (width - len(click.unstyle(text)))
                line += (padding + text if column.right else text + padding) + " " * GAP
            yield " " * table.indent + line


def _styled(text: Text, style: Style) -> Styled:
    return Styled(((text, style),)) if isinstance(text, str) else text


def _widths(table: Table, rows: Sequence[Sequence[Styled]], columns: int) -> list[int]:
    """Return the width of each column: that of its longest cell, more if the table is wide, less if the page is narrow.

    A flexible column has an equal share of what the other columns leave.
    """
    widths = [column.least for column in table.columns]
    for row in rows:
        for number, cell in enumerate(row if len(row) == len(widths) else row[:-1]):
            widths[number] = max(widths[number], sum(len(printable(text)) for text, _ in cell.spans))
    # From here on, a width includes the blanks to the next column.
    gaps = [GAP] * (len(widths) - 1) + [0]
    flexible = [column.flexible for column in table.columns]
    full = [0 if flex else width + gap for flex, width, gap in zip(flexible, widths, gaps, strict=True)]
    weights = flexible if any(flexible) else full[:] if table.wide else []
    more = columns - table.indent - sum(full)
    for number, weight in enumerate(weights if more > 0 else ()):
        share = math.ceil(weight * more / max(1, sum(weights[number:])))
        full[number], more = full[number] + share, more - share
    narrowing = [number for number, column in enumerate(table.columns) if not column.whole]
    while (excess := sum(full) - (columns - table.indent)) > 0:
        widest = max((full[number] for number in narrowing), default=1)
        if widest == 1:
            break  # a column that stays whole is wider than the page
        second = max((full[number] for number in narrowing if full[number] < widest), default=1)
        numbers = [number for number in narrowing if full[number] == widest]
        for place, number in enumerate(numbers):
            less = min(widest - second, round(excess / (len(numbers) - place)))
            full[number], excess = full[number] - less, excess - less
    return [max(1, width - gap) for width, gap in zip(full, gaps, strict=True)]
