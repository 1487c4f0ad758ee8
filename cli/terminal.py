"""Text on a terminal: a name that comes from a cluster, a store file or AWS must not command the terminal."""

from __future__ import annotations

import sys

import click

from reports.amounts import printable


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print the text; every character but line feeds and tabs that is not printable is escaped."""
    click.echo(printable_lines(text), err=err, nl=nl)


def echo_styled(page: str) -> None:
    """Print a page that has colours of its own; whatever comes from outside was made printable in it."""
    click.echo(page, color=sys.stdout.isatty() or None)


def printable_lines(text: str) -> str:
    """Return the text with its line feeds and tabs, and every other character that is not printable escaped."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def rich_text(text: str) -> str:
    """Return the text as rich prints it literally: not as markup, and with no command for the terminal."""
    from rich.markup import escape  # noqa: PLC0415 - most commands print without rich

    return escape(printable_lines(text))
