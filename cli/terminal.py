"""Text on a terminal: a name that comes from a cluster, a store file or AWS must not command the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Final

import click

from reports.amounts import printable

MOST_COLUMNS: Final = 120
"""Longer lines are hard to read, however wide the terminal is."""


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print the text; every character but line feeds and tabs that is not printable is escaped."""
    click.echo(printable_lines(text), err=err, nl=nl)


def echo_styled(page: str) -> None:
    """Print a page that has colours of its own, unless NO_COLOR is set; what comes from outside was made printable."""
    click.echo(page, color=not os.environ.get("NO_COLOR") and (sys.stdout.isatty() or None))


def page_columns() -> int:
    """Return how many columns a page may take: those of the terminal, and 120 at most."""
    return min(shutil.get_terminal_size().columns, MOST_COLUMNS)


def printable_lines(text: str) -> str:
    """Return the text with its line feeds and tabs, and every other character that is not printable escaped."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def rich_text(text: str) -> str:
    """Return the text as rich prints it literally: not as markup, and with no command for the terminal."""
    from rich.markup import escape  # noqa: PLC0415 - most commands print without rich

    return escape(printable_lines(text))
