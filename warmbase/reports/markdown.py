"""Markdown as GitHub shows it: paragraphs, lists, tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import Final

from warmbase.ground.units import printable

WIDTH: Final = 125
MARKED: Final = re.compile(r"([\\`*_\[\]|<>#~])")
"""Characters that Markdown, or GitHub and GitLab, take for more than text."""


def literal(text: str) -> str:
    """Return the text on one line, with every character that Markdown would take for more than text escaped."""
    return MARKED.sub(r"\\\1", printable(" ".join(text.split())))


def section(*parts: str) -> str:
    """Return headings, paragraphs and tables, joined by empty lines."""
    return "\n\n".join(parts)


def paragraph(text: str) -> str:
    """Return the text in lines of at most 125 characters."""
    return fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def bullets(*points: str) -> str:
    """Return one point for each text."""
    return "\n".join(
        fill(
            f"- {' '.join(point.split())}",
            WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for point in points
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table whose columns at `right` are numbers."""
    numbers = set(right)
    rules = ["---:" if column in numbers else "---" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rules, *rows))
