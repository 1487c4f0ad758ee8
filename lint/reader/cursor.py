"""A place in a passage that is being read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lint.reader.source_text import SourceText

__all__ = ["BLANK", "TextCursor"]

BLANK: Final = re.compile(r"[ \t\r\n]*+")
"""What JSON calls blank, and the shorthand of the AWS command line too."""


@dataclass(slots=True, kw_only=True)
class TextCursor:
    """`at` is the next character to be read."""

    passage: SourceText
    at: int = 0

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        blank = BLANK.match(self.passage.text, self.at)
        self.at = blank.end() if blank else self.at
        return self.passage.text[self.at : self.at + 1]
