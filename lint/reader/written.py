"""Keys and values as they stand in a file, so that a correction can replace them and nothing else."""

from __future__ import annotations

import json
import re
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from msgspec import Struct

from emr.cluster_spec import Setting
from lint.reader.heredoc import EXPANDED, VERBATIM
from lint.reader.source_text import SourceText

PLAIN_YAML: Final = re.compile(r"[A-Za-z_./][\w./,+-]*(?::[\w./][\w./,+-]*)*", re.ASCII)
YAML_WORDS: Final = re.compile(r"true|false|yes|no|on|off|null|y|n|~|\.(?:inf|nan)", re.IGNORECASE)
BARE_SHORTHAND: Final = re.compile(r"[\w./:+-]+", re.ASCII)
SHELL_SPECIAL: Final = re.compile(r"([^\w@%+=:,./{}\[\]-])", re.ASCII)


class Notation(StrEnum):
    """How a text is written at its place."""

    JSON = "JSON"
    YAML_PLAIN = "YAML without quotes"
    YAML_SINGLE = "YAML in single quotes"
    SHORTHAND = "shorthand of the AWS CLI"
    XML = "XML"


def written_in(notation: Notation, text: str) -> str:
    """Return the text as that notation writes it."""
    match notation:
        case Notation.XML:
            return escape(text)
        case Notation.YAML_SINGLE:
            return "'" + text.replace("'", "''") + "'"
        case Notation.YAML_PLAIN if PLAIN_YAML.fullmatch(text) and not YAML_WORDS.fullmatch(text):
            return text
        case Notation.SHORTHAND if BARE_SHORTHAND.fullmatch(text):
            return text
        case _:
            return json.dumps(text, ensure_ascii=False)


def _in_shell(quote: str, text: str) -> str:
    """Return the text as a script writes it inside that quote."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == VERBATIM:
        return text
    if quote == EXPANDED:
        return re.sub(r"([\\$`])", r"\\\1", text)
    if quote == '"':
        return re.sub(r'([\\"$`])', r"\\\1", text)
    return SHELL_SPECIAL.sub(r"\\\1", text)


class Replacement(Struct, frozen=True, kw_only=True):
    """A new text for the part of a file from `start` to `end`."""

    path: Path
    start: int
    end: int
    text: str


class Written(Struct, frozen=True, kw_only=True):
    """A key or a value from `start` to `end` of a passage, quotes included."""

    passage: SourceText
    start: int
    end: int
    notation: Notation

    def replaced(self, text: str) -> Replacement | None:
        """Return the replacement of the whole by another text; None where it cannot be replaced safely."""
        return replacement(self.passage, self.start, self.end, written_in(self.notation, text))


def replacement(passage: SourceText, start: int, end: int, text: str) -> Replacement | None:
    """Return the replacement of a part of a passage; None where the shell puts the part together."""
    origin = passage.origin(start, end)
    if passage.path is None or origin is None or "\n" in text:
        return None
    new = _in_shell(origin.quote[0], text) if passage.pieces else text
    return Replacement(path=passage.path, start=origin.origin, end=origin.origin_end, text=new)


class WrittenSetting(Struct, frozen=True, kw_only=True):
    """A setting with the places of its key and value; None for one that is not a text of its own.

    `whole` is what goes with it where it is removed, None where that cannot be told.
    """

    setting: Setting
    key: Written | None
    value: Written | None
    whole: Written | None = None

    def removed(self) -> Replacement | None:
        """Return the replacement that removes the setting."""
        return None if self.whole is None else replacement(self.whole.passage, self.whole.start, self.whole.end, "")


WRITTEN: Final[ContextVar[list[WrittenSetting] | None]] = ContextVar("written", default=None)
"""The settings that a trial has read; other readings collect none."""
