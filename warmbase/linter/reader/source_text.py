"""A text with the line of each of its characters: a file, or a word of a command in one.

It also finds the here-documents of a shell script (the text of `cat > NAME <<EOF`, and of `$(cat <<EOF … )` in a word),
and a key or a value as it stands in a file, so that a correction can replace it and nothing else.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from contextvars import ContextVar
from enum import StrEnum
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.emr.cluster_spec import Setting
from warmbase.ground.errors import InvalidInput
from warmbase.ground.files import read_regular_file
from warmbase.ground.markup import xml_text

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

    def quoted(self, text: str) -> str:
        """Return a text of this place as a message quotes it.

        The author of a file chooses the files that it names, and its reader may post the answer: those are not quoted.
        """
        return quoted(text) if self.cited is None else "this text"


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


# judgement: no setting has more blanks around it.
MOST_BLANKS: Final = 1_000
BLANKS_AFTER: Final = re.compile(r"[ \t]*+\n")


def alone_on_line(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return where the lines of a part begin and end; None where they hold more than that part and blanks."""
    _, line_feed, indent = text[max(0, start - MOST_BLANKS) : start].rpartition("\n")
    after = BLANKS_AFTER.match(text, end)
    if indent.strip(" \t") or after is None or not (line_feed or start <= MOST_BLANKS):
        return None
    return start - len(indent), after.end()


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
    here, full = Path.cwd(), path.absolute()
    source = STDIN if path == STANDARD_INPUT else str(full.relative_to(here) if full.is_relative_to(here) else path)
    try:
        content = _content(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        where = source if cited is None else cited
        raise refusal(where, what=f"{source} cannot be read", why=reason, fix="pass the path of a file") from None
    text = _text(content, source)
    breaks = tuple(line_end.end() for line_end in NEW_LINE.finditer(text))
    return SourceText(text=text, source=source, breaks=breaks, cited=cited.linted_line if cited else None, path=path)


def _content(path: Path) -> bytes:
    """Return the bytes of a file; in a trial, those that it has for the file. Raises OSError or ValueError."""
    contents = CONTENTS.get()
    if contents is not None and path in contents:
        return contents[path]
    if path != STANDARD_INPUT:
        content = read_regular_file(path, MOST_BYTES + 1)
    elif sys.stdin.isatty():
        raise ValueError("the standard input is a terminal")
    else:
        content = sys.stdin.buffer.read(MOST_BYTES + 1)
    if contents is not None:
        contents[path] = content
    return content


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
            f"{source}:{line}", what="is not text", why=f"byte {error.start} is not UTF-8", fix="save the file as UTF-8"
        ) from None
    if "\0" in text:
        raise refusal(where, what="is not text", why="the file contains zero bytes", fix="save the file as UTF-8")
    if not text.strip():
        raise refusal(where, what="is empty", why="the file has no content", fix="pass a file with settings")
    return text.replace("\r\n", "\n").replace("\r", "\n")


START: Final = r"<<(?P<indented>-?)[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)"
BODY: Final = r"[^\n]*\n(?P<text>.*?)^[ \t]*(?P=end)[ \t]*$"
WRITER: Final = re.compile(r"[^#]*?\b(?:cat|tee)\b")
FILE: Final = re.compile(START + BODY, re.DOTALL | re.MULTILINE)
HEREDOC: Final = re.compile(rf"(?:^|(?<=\s))#[^\n]*+|{START}", re.MULTILINE)
COMMAND: Final = re.compile(rf"\$\(\s*cat\s+{START}{BODY}", re.DOTALL | re.MULTILINE)
# judgement: a script that writes a cluster's files has fewer here-documents; each is searched for its end.
MOST_HEREDOCS: Final = 200
PIECE: Final = re.compile(
    r"(?P<joined>\\\n)|\\(?P<escaped>[$`\\])|(?P<filled>\$\{[^{}]*\}|\$[A-Za-z_]\w*|\$\([^()]*\)|`[^`]*`)"
    r"|(?P<verbatim>[^\\$`]+|[\\$`])"
)
EXPANDED, VERBATIM = "<<", "<<'"
"""How a correction is written in a here-document: with a backslash before what the shell expands, or as it is."""


def heredoc_file(script: SourceText, name: str) -> SourceText | None:
    """Return the text that a script writes to a file of that name; None where it writes no such file."""
    starts = (start.start() for start in HEREDOC.finditer(script.text) if start["end"])
    at = 0
    for begin in islice(starts, MOST_HEREDOCS):
        heredoc = FILE.match(script.text, begin) if begin >= at else None
        if heredoc is None:
            continue
        at = heredoc.end()
        start = script.text.rfind("\n", 0, heredoc.start()) + 1
        line = script.text[start : script.text.index("\n", heredoc.start())]
        writer = WRITER.match(line, 0, heredoc.start() - start)
        words = re.findall(r"[^\s'\"<>|;&]+", line[writer.end() :]) if writer else []
        if PurePosixPath(name) in map(PurePosixPath, words):
            parts = list(_pieces(script, heredoc))
            breaks = [piece.start + line_end.end() for part, piece in parts for line_end in NEW_LINE.finditer(part)]
            return SourceText(
                text="".join(part for part, _ in parts),
                source=script.source,
                breaks=tuple(breaks),
                first_line=script.place(heredoc.start("text")).line,
                cited=script.cited,
                path=script.path,
                pieces=tuple(piece for _, piece in parts),
            )
    return None


def heredoc_pieces(script: SourceText, offset: int, end: int) -> list[tuple[str, TextPiece]]:
    """Return the texts that `$(cat <<EOF …)` up to `end` stands for, with their places; none for another command."""
    heredoc = COMMAND.match(script.text, offset, end)
    return list(_pieces(script, heredoc)) if heredoc else []


def _pieces(script: SourceText, heredoc: re.Match[str]) -> Iterator[tuple[str, TextPiece]]:
    """Yield the pieces of the text; their places in the word or passage are those of a text of its own."""
    start, end = heredoc.span("text")
    if heredoc["quote"]:
        whole = script.text[start:end]
        yield whole, TextPiece(start=0, length=len(whole), origin=start, origin_end=end, quote=(VERBATIM, start))
        return
    at = 0
    for piece in PIECE.finditer(script.text, start, end):
        text = piece["verbatim"] or piece["escaped"] or ""
        if piece["filled"]:
            text = "${" + piece["filled"].strip("$`(){}") + "}"
        origin, origin_end = piece.span()
        yield text, TextPiece(start=at, length=len(text), origin=origin, origin_end=origin_end, quote=(EXPANDED, start))
        at += len(text)


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
            return xml_text(text)
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
