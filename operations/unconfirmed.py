"""The statements of docs/unconfirmed.md: what nobody has seen on AWS yet, and what happens if it is wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from msgspec import Struct

__all__ = ["HARMS", "PAGE", "Statement", "read_statements"]

PAGE: Final = Path(__file__).parents[1] / "docs" / "unconfirmed.md"
HARMS: Final = ("stops a launch", "loses data", "loses a cache", "cosmetic")
"""The values of the column "if it is wrong", the worst first; each table of the page is in this order."""

ROW: Final = re.compile(
    rf"^\| (?P<what>.+?) \| (?P<harm>{'|'.join(HARMS)}) \| (?P<why>.*) \| (?P<check>.*) \|$", re.MULTILINE
)
SECTION: Final = re.compile("^###? ", re.MULTILINE)
TRINO: Final = "Trino"
"""The word in the headings of the sections about analytics clusters."""
BY_HAND: Final = "To be tried"


class Statement(Struct, frozen=True, kw_only=True):
    """One row of the page. `harm` is one of HARMS; `by_hand` is False where `warmbase verify` has the check."""

    what: str
    harm: str
    why: str
    check: str
    on_trino: bool
    by_hand: bool


def read_statements(text: str | None = None) -> tuple[Statement, ...]:
    """Return the rows of the page, or of another text in its form, in the page's order."""
    statements: list[Statement] = []
    by_hand = False
    for section in SECTION.split(PAGE.read_text(encoding="utf-8") if text is None else text):
        heading = section.partition("\n")[0]
        by_hand = by_hand or heading.startswith(BY_HAND)
        statements.extend(
            Statement(**match.groupdict(), on_trino=TRINO in heading, by_hand=by_hand)
            for match in ROW.finditer(section)
        )
    return tuple(statements)
