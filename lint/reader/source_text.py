"""A text with the line of each of its characters: a file, or a word of a command in one."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sizing.problem import InvalidInput, Problem

__all__ = ["SourceSpan", "SourceText", "load_source", "quoted", "refusal"]

# judgement: EMR takes some hundred kilobytes of configurations; beyond 4 MiB it is some other file.
MOST_BYTES: Final = 4 * 2**20
NEW_LINE: Final = re.compile("\n")
LONGEST_QUOTE: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpan:
    """A line of a file. `cited` is the line of the linted file that names this one, None where this is the linted."""

    source: str
    line: int
    cited: int | None = None

    @property
    def linted_line(self) -> int:
        """The line of the linted file that stands for this place."""
        return self.line if self.cited is None else self.cited

    def __str__(self) -> str:
        """`file:line`."""
        return f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """`breaks` are the offsets at which a next line begins; a word may have some that its text does not show."""

    text: str
    source: str
    breaks: tuple[int, ...]
    first_line: int = 1
    cited: int | None = None

    def place(self, offset: int) -> SourceSpan:
        """Where a character stands; past the end, the last line that has any."""
        offset = max(0, min(offset, len(self.text.rstrip()) - 1)) if offset >= len(self.text) else offset
        line = self.first_line + bisect_right(self.breaks, offset)
        return SourceSpan(source=self.source, line=line, cited=self.cited)

    def after(self, offset: int) -> SourceText:
        """Return the rest of it."""
        first = bisect_right(self.breaks, offset)
        return SourceText(
            text=self.text[offset:],
            source=self.source,
            breaks=tuple(found - offset for found in self.breaks[first:]),
            first_line=self.first_line + first,
            cited=self.cited,
        )


def quoted(text: str) -> str:
    """A stranger's text as a message quotes it: short, and printable."""
    return repr(text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…")


def refusal(where: SourceSpan | str, *, what: str, why: str, fix: str) -> InvalidInput:
    """Return the one problem that ends the reading of a file."""
    return InvalidInput([Problem(where=str(where), what=what, why=why, fix=fix)])


def load_source(path: Path, cited: SourceSpan | None = None) -> SourceText:
    """A whole file. Raises InvalidInput when it is not there, is no text, or is too long."""
    source = _display_path(path)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        where = source if cited is None else cited
        raise refusal(where, what=f"{source} cannot be read", why=reason, fix="give the path of a file") from None
    text = _text(content, source)
    breaks = tuple(found.end() for found in NEW_LINE.finditer(text))
    return SourceText(text=text, source=source, breaks=breaks, cited=cited.linted_line if cited else None)


def _text(content: bytes, source: str) -> str:
    """Raises InvalidInput. Every end of line becomes a line feed, as an editor counts them."""
    where = f"{source}:1"
    if len(content) > MOST_BYTES:
        raise refusal(where, what="is too long", why="it is over 4 MiB", fix="give the configurations alone")
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
        raise refusal(where, what="is not text", why="it holds zero bytes", fix="save the file as UTF-8")
    if not text.strip():
        raise refusal(where, what="is empty", why="there is nothing to read", fix="give a file with settings")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _display_path(path: Path) -> str:
    here = Path.cwd()
    full = path.absolute()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(path)
