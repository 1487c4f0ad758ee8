"""The parts of a page that proposes changes: each change, with its reason and how it is applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.changes.change import Change
from warmbase.cli.page import Page, Paragraph, Part
from warmbase.configurations.properties.property import Applied

CHANGES: Final = Page(label=9, cut=True)
"""The layout of these parts."""
SHORT: Final = 70
NOTHING: Final = "not set"


def change_parts(change: Change) -> Iterator[Part]:
    """Yield one change: property, old and new value, reason, and how it is applied."""
    groups = "" if len(change.groups) > 1 else f" ({change.groups[0]})"
    marked = ", an override" if change.overridden else ""
    yield f"  {change.classification} {change.key}{groups}{marked}"
    yield Paragraph(text=f"{_value(change.before)} -> {_value(change.after)}", indent=4)
    restarts = f"; restarts {change.restarts}" if change.restarts else ""
    if change.applied is Applied.LIVE and change.classification == "hbase-site":
        restarts = "; edit hbase-site.xml on each node, then run update_all_config (EMR itself would restart HBase)"
    emptied = "; the cache is lost" if change.empties_cache else ""
    yield Paragraph(text=f"{change.why}{restarts}{emptied}", indent=4)


def _value(text: str | None) -> str:
    """Return the value as it is shown; a long list gets a blank after each comma, so that it can be wrapped."""
    if text is None:
        return NOTHING
    return text if len(text) <= SHORT else text.replace(",", ", ")
