"""The words of one command in a shell script, each with its lines.

The standard library's shlex gives no lines, and would take a `<placeholder>` for a redirection.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from warmbase.ground.errors import InvalidInput
from warmbase.linter.reader.source_text import SourceText, TextPiece, heredoc_pieces, refusal

FILLED: Final = r"\$\{[^{}]*\}|\$[A-Za-z_]\w*|\$[\d?@#*!$-]|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`"
"""Text that the shell replaces: a variable, or the output of a command."""
UNQUOTED: Final = re.compile(
    rf"""'(?P<single>[^']*)'|"(?P<double>(?>(?:[^"\\$`]|\\.|{FILLED}|\$|`)*))"|(?P<joined>\\\n)|\\(?P<escaped>.|\Z)|"""
    rf"""(?P<filled>{FILLED})|(?P<verbatim><[^<>\n]*>|[^ \t\n;&|)\\'"`$<]+|[$<`])""",
    re.DOTALL,
)
QUOTED: Final = re.compile(
    rf"""(?P<joined>\\\n)|\\(?P<escaped>[$`"\\])|(?P<filled>{FILLED})|(?P<verbatim>[^\\$`]+|[\\$`])"""
)
BETWEEN: Final = re.compile(r"(?:[ \t]|\\\n|>[ \t]+(?=--)|\d*+>{1,2}&?[ \t]*+[^\s;&|]+)*")
"""Blanks, line continuations, the prompts of a terminal, and redirections of the output."""
BROKEN: Final = re.compile(r"\\[ \t]+\n")
SPACES: Final = re.compile("[\u00a0\u2000-\u200b\u202f\u3000]")
OPTION_LINE: Final = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\n)*[ \t]*+(?P<option>--[a-z])")
ENDS: Final = " \t\n;&|)"


def shell_words(script: SourceText, offset: int, *, in_backticks: bool = False) -> list[SourceText]:
    """Return the words from an offset to the end of the command; `${…}` stands for what the shell would fill in.

    Raises InvalidInput for a quote that never ends, and for a command that ends sooner than it seems to.
    """
    reader = _Reader(script=script, at=offset, closing="`" if in_backticks else "")
    words = []
    while reader.more():
        words.append(reader.word())
    option = OPTION_LINE.match(script.text, reader.at)
    if option:
        why = "the previous line does not end with a backslash, so the command ends there"
        raise reader.refusal(
            option.start("option"), "is not part of the command", why, "end the previous line with a backslash"
        )
    return words


class _Word(Struct, kw_only=True):
    """A word as it grows, piece by piece."""

    script: SourceText
    start: int
    pieces: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    origins: list[TextPiece] = field(default_factory=list)
    length: int = 0
    line: int = 0

    def add(self, text: str, piece: re.Match[str], quote: tuple[str, int]) -> None:
        """Add the text of a piece of the script, with the quote in which it stands."""
        start, end = piece.span(piece.lastgroup or 0)
        begin = piece.start() if piece["escaped"] is not None else start
        self.append(text, TextPiece(start=0, length=len(text), origin=begin, origin_end=end, quote=quote))

    def append(self, text: str, piece: TextPiece) -> None:
        """Add a text with its place in the script."""
        self.origins.append(replace(piece, start=self.length))
        self.line = self.line or self.script.place(self.start).line
        while self.line < self.script.place(piece.origin).line:
            self.breaks.append(self.length)
            self.line += 1
        self.breaks.extend(self.length + line_end.end() for line_end in re.finditer("\n", text))
        self.line += text.count("\n")
        self.pieces.append(text)
        self.length += len(text)

    def passage(self) -> SourceText:
        """Return the whole word."""
        return SourceText(
            text="".join(self.pieces),
            source=self.script.source,
            breaks=tuple(self.breaks),
            first_line=self.script.place(self.start).line,
            cited=self.script.cited,
            path=self.script.path,
            pieces=tuple(self.origins),
            script=self.script,
        )


class _Reader(Struct, kw_only=True):
    script: SourceText
    at: int
    closing: str

    def refusal(self, offset: int, what: str, why: str, fix: str) -> InvalidInput:
        """Return the problem of the text at an offset."""
        return refusal(self.script.place(offset), what=what, why=why, fix=fix)

    def more(self) -> bool:
        """Return whether a word follows before the command ends."""
        between = BETWEEN.match(self.script.text, self.at)
        self.at = between.end() if between else self.at
        following = self.script.text[self.at : self.at + 1]
        return bool(following) and following not in ENDS + self.closing + "#"

    def word(self) -> SourceText:
        """Return the word that begins here."""
        text = self.script.text
        word = _Word(script=self.script, start=self.at)
        while self.at < len(text) and text[self.at] not in ENDS + self.closing:
            piece = UNQUOTED.match(text, self.at)
            if not piece:
                why = f"the quote {text[self.at]} is never closed"
                raise self.refusal(
                    self.at, "is not a command", why, "close it, or put a backslash before it if it is text"
                )
            if piece["escaped"] is not None and BROKEN.match(text, self.at):
                why = "blanks follow the backslash, so the command ends here instead of continuing"
                fix = "remove the blanks at the end of the line"
                raise self.refusal(self.at, "is not a line continuation", why, fix)
            verbatim = piece["verbatim"] or ""
            space = None if verbatim.startswith("<") else SPACES.search(verbatim)
            if space:
                why = f"U+{ord(space[0]):04X} looks like a blank, but the shell takes it for a letter"
                fix = "write an ordinary blank instead"
                raise self.refusal(self.at + space.start(), "is not a blank", why, fix)
            self._add(piece, word)
            self.at = piece.end()
        return word.passage()

    def _add(self, piece: re.Match[str], word: _Word) -> None:
        if piece["double"] is None:
            quote = ("", 0) if piece["single"] is None else ("'", piece.start())
            word.add(_literal(piece, piece["single"]), piece, quote)
            return
        for inner in QUOTED.finditer(self.script.text, *piece.span("double")):
            expanded = heredoc_pieces(self.script, *inner.span()) if inner["filled"] else []
            for text, place in expanded:
                word.append(text, place)
            if not expanded:
                word.add(_literal(inner, None), inner, ('"', piece.start()))


def _literal(piece: re.Match[str], single: str | None) -> str:
    """Return the text that a piece of a word stands for."""
    if piece["filled"] is not None:
        return "${" + piece["filled"].strip("$`(){}").replace("{", "").replace("}", "") + "}"
    return next((text for text in (single, piece["escaped"], piece["verbatim"]) if text is not None), "")
