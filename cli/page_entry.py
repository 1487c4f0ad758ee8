"""One entry of a page that proposes something: a name at the left, and its text in lines of at most 80 columns."""

from __future__ import annotations

from textwrap import wrap

from cli.change_lines import WIDTH
from reports.amounts import printable


def page_entry(name: str, text: str) -> list[str]:
    """Return the lines of an entry; an empty name continues the entry before."""
    return wrap(
        printable(text),
        WIDTH,
        initial_indent=f"  {name:<10}",
        subsequent_indent=" " * 12,
        break_on_hyphens=False,
        break_long_words=False,
    )
