"""A text with the line of each of its characters: a file, or a word of a command in one."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from environments.regular_file import read_regular_file
from sizing.problem import InvalidInput

# judgement: EMR takes some hundred kilobytes of configurations; beyond 4 MiB it is some other file.
MOST_BYTES: Final = 4 * 2**20
NEW_LINE: Final = re.compile("\n")
LONGEST_QUOTE: Final = 40
STANDARD_INPUT: Final = Path("-")
STDIN: Final = "stdin"
CONTENTS: Final[ContextVar[dict[Path, bytes] | None]] = ContextVar("contents", default=None)
"""Contents that a trial reads instead of those on disk; each file that is read is added."""
BLANK: Final = re.compile(r"[ \t\r\n]*+")
"""Blanks of JSON, and of the shorthand of the AWS CLI."""


class SourceSpan(Struct, frozen=True, kw_only=True):
    """A line of a file; `cited` is the line of the linted file that names this one, else None."""

    source: str
    line: int
    cited: int | None = None

    @property
    def linted_line(self) -> int:
        """The line of the linted file that leads to this place."""
        return self.line if self.cited is None else self.cited

    def __str__(self) -> str:
        """Return `file:line`."""
        return f"{self.source}:{self.line}"


class TextPiece(Struct, frozen=True, kw_only=True):
    """A part of a text with its place in the file; `quote` is the quote around it there, and where that begins."""

    start: int
    length: int
    origin: int
    origin_end: int
    quote: tuple[str, int] = ("", 0)

    @property
    def is_verbatim(self) -> bool:
        """Return whether the text stands in the file as it is."""
        return self.length == self.origin_end - self.origin

    def at(self, offset: int) -> int:
        """Return the place of a character; of an escape or a variable, that of its beginning."""
        return self.origin + (offset - self.start if self.is_verbatim else 0)

    def end_at(self, offset: int) -> int:
        """Return the place where a part ends."""
        return self.origin + (offset - self.start) if self.is_verbatim else self.origin_end


class SourceText(Struct, frozen=True, kw_only=True):
    """A text whose `breaks` are the offsets at which lines begin; in a word they need not show in the text.

    `path` is its file. `pieces` say where the parts of a word stand in it; a whole file has none.
    `script` is the script of a word.
    """

    text: str
    source: str
    breaks: tuple[int, ...]
    first_line: int = 1
    cited: int | None = None
    path: Path | None = None
    pieces: tuple[TextPiece, ...] = ()
    script: SourceText | None = None

    def place(self, offset: int) -> SourceSpan:
        """Return the place of a character; past the end, the last line with text."""
        offset = max(0, min(offset, len(self.text.rstrip()) - 1)) if offset >= len(self.text) else offset
        line = self.first_line + bisect_right(self.breaks, offset)
        return SourceSpan(source=self.source, line=line, cited=self.cited)

    def after(self, offset: int) -> SourceText:
        """Return the text from an offset on."""
        first = bisect_right(self.breaks, offset)
        return SourceText(
            text=self.text[offset:],
            source=self.source,
            breaks=tuple(line_start - offset for line_start in self.breaks[first:]),
            first_line=self.first_line + first,
            cited=self.cited,
            path=self.path,
            pieces=tuple(replace(piece, start=piece.start - offset) for piece in self.pieces),
            script=self.script,
        )

    def origin(self, start: int, end: int) -> TextPiece | None:
        """Return where a part of the text stands in its file; None where the shell joins it from several parts."""
        if not self.pieces:
            return TextPiece(start=start, length=end - start, origin=start, origin_end=end)
        first = next((piece for piece in self.pieces if piece.start <= start < piece.start + piece.length), None)
        last = next((piece for piece in self.pieces if piece.start < end <= piece.start + piece.length), None)
        if first is None or last is None or first.quote != last.quote:
            return None
        origin, origin_end = first.at(start), last.end_at(end)
        return replace(first, start=start, length=end - start, origin=origin, origin_end=origin_end)


class TextCursor(Struct, kw_only=True):
    """A position in a text: `at` is the next character to read."""

    passage: SourceText
    at: int = 0

    def peek(self) -> str:
        """Return the next character that is not blank; an empty text at the end."""
        blank = BLANK.match(self.passage.text, self.at)
        self.at = blank.end() if blank else self.at
        return self.passage.text[self.at : self.at + 1]


def quoted(text: str) -> str:
    """Return a text in the form in which a message quotes it: short and printable."""
    return repr(text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…")


def refusal(where: SourceSpan | str, *, what: str, why: str, fix: str) -> InvalidInput:
    """Return the one problem that ends the reading of a file."""
    return InvalidInput.of(where=str(where), what=what, why=why, fix=fix)


def load_source(path: Path, cited: SourceSpan | None = None) -> SourceText:
    """Return a whole file, or the standard input for `-`.

    Raises InvalidInput when it is missing, is not text, or is too long.
    """
    source = STDIN if path == STANDARD_INPUT else _display_path(path)
    try:
        content = read_content(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        where = source if cited is None else cited
        raise refusal(where, what=f"{source} cannot be read", why=reason, fix="pass the path of a file") from None
    text = _text(content, source)
    breaks = tuple(line_end.end() for line_end in NEW_LINE.finditer(text))
    return SourceText(text=text, source=source, breaks=breaks, cited=cited.linted_line if cited else None, path=path)


def read_content(path: Path) -> bytes:
    """Return the bytes of a file; in a trial, those that it has for the file. Raises OSError or ValueError."""
    contents = CONTENTS.get()
    if contents is not None and path in contents:
        return contents[path]
    content = _stdin_bytes() if path == STANDARD_INPUT else read_regular_file(path, MOST_BYTES + 1)
    if contents is not None:
        contents[path] = content
    return content


def _stdin_bytes() -> bytes:
    if sys.stdin.isatty():
        raise ValueError("the standard input is a terminal")
    return sys.stdin.buffer.read(MOST_BYTES + 1)


def _text(content: bytes, source: str) -> str:
    """Return the text, with a line feed at the end of each line. Raises InvalidInput where it is not text."""
    where = f"{source}:1"
    if len(content) > MOST_BYTES:
        raise refusal(where, what="is too long", why="the file is over 4 MiB", fix="pass only the configurations")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refusal(
            f"{source}:{line}",
            what="is not text",
            why=f"byte {error.start} is not UTF-8",
            fix="save the file as UTF-8",
        ) from None
    if "\0" in text:
        raise refusal(where, what="is not text", why="the file contains zero bytes", fix="save the file as UTF-8")
    if not text.strip():
        raise refusal(where, what="is empty", why="the file has no content", fix="pass a file with settings")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _display_path(path: Path) -> str:
    here = Path.cwd()
    full = path.absolute()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(path)
