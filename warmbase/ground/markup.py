"""Escaping of text, so that XML reads it as text."""

from __future__ import annotations

import re
from typing import Final
from xml.sax.saxutils import escape

FORBIDDEN: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML has. Source: XML 1.0, 2.2 Characters."""


def xml_text(text: str) -> str:
    """Return the text as the content of an element, from which a parser reads every character again.

    A carriage return, and a character that a terminal would not print as it is, is a reference to its number. Raises
    ValueError for a character that XML cannot have.
    """
    if match := FORBIDDEN.search(text):
        raise ValueError(f"XML has no character U+{ord(match[0]):04X}")
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else f"&#x{ord(letter):X};" for letter in escape(text)
    )


def xml_comment(text: str) -> str:
    """Return the text as the content of a comment, which must not have two hyphens in a row."""
    return xml_text(text).replace("--", "- -")
