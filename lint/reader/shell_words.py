"""The words of one command in a shell script, each with the lines it stands in.

The standard library's shlex gives no lines, and takes a `<placeholder>` for a redirection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from lint.reader.source_text import SourceText, refusal
from sizing.problem import InvalidInput

__all__ = ["shell_words"]

FILLED: Final = r"\$\{[^{}]*\}|\$[A-Za-z_]\w*|\$[\d?@#*!$-]|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`"
"""What the shell puts in: a variable, or what a command prints."""
UNQUOTED: Final = re.compile(
    rf"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\$`]|\\.|{FILLED}|\$|`)*)"|(?P<joined>\\\n)|\\(?P<escaped>.|\Z)|"""
    rf"""(?P<filled>{FILLED})|(?P<verbatim><[^<>\n]*>|[^ \t\n;&|)\\'"`$<]+|[$<`])""",
    re.DOTALL,
)
QUOTED: Final = re.compile(
    rf"""(?P<joined>\\\n)|\\(?P<escaped>[$`"\\])|(?P<filled>{FILLED})|(?P<verbatim>[^\\$`]+|[\\$`])"""
)
BETWEEN: Final = re.compile(r"(?:[ \t]|\\\n|>[ \t]+(?=--)|\d*+>{1,2}&?[ \t]*+[^\s;&|]+)*")
"""Blanks, line continuations, the prompts of a terminal, and redirections of what the command prints."""
BROKEN: Final = re.compile(r"\\[ \t]+\n")
SPACES: Final = re.compile("[\u00a0\u2000-\u200b\u202f\u3000]")
OPTION_LINE: Final = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\n)*[ \t]*+(?P<option>--[a-z])")
ENDS: Final = " \t\n;&|)"


def shell_words(script: SourceText, offset: int, *, in_backticks: bool = False) -> list[SourceText]:
    """The words from there to the end of the command. What the shell would fill in is written `${…}`.

    Raises InvalidInput for a quote that never ends, and for a command that ends sooner than it seems to.
    """
    reader = _Reader(script=script, at=offset, closing="`" if in_backticks else "")
    words = []
    while reader.more():
        words.append(reader.word())
    option = OPTION_LINE.match(script.text, reader.at)
    if option:
        why = "the line before does not end in a backslash, so the command ends there"
        raise reader.wrong(option.start("option"), "is no part of the command", why, "put a backslash before it")
    return words


@dataclass(slots=True, kw_only=True)
class _Word:
    """A word as it grows, piece by piece."""

    script: SourceText
    start: int
    pieces: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    length: int = 0
    line: int = 0

    def add(self, text: str, offset: int) -> None:
        """Text that stands at an offset of the script."""
        self.line = self.line or self.script.place(self.start).line
        while self.line < self.script.place(offset).line:
            self.breaks.append(self.length)
            self.line += 1
        self.breaks.extend(self.length + found.end() for found in re.finditer("\n", text))
        self.line += text.count("\n")
        self.pieces.append(text)
        self.length += len(text)

    def passage(self) -> SourceText:
        """The whole word."""
        return SourceText(
            text="".join(self.pieces),
            source=self.script.source,
            breaks=tuple(self.breaks),
            first_line=self.script.place(self.start).line,
            cited=self.script.cited,
        )


@dataclass(slots=True, kw_only=True)
class _Reader:
    script: SourceText
    at: int
    closing: str

    def wrong(self, offset: int, what: str, why: str, fix: str) -> InvalidInput:
        """A refusal of what stands there."""
        return refusal(self.script.place(offset), what=what, why=why, fix=fix)

    def more(self) -> bool:
        """Return whether a word follows before the command ends."""
        between = BETWEEN.match(self.script.text, self.at)
        self.at = between.end() if between else self.at
        following = self.script.text[self.at : self.at + 1]
        return bool(following) and following not in ENDS + self.closing + "#"

    def word(self) -> SourceText:
        """The word that begins here."""
        text = self.script.text
        word = _Word(script=self.script, start=self.at)
        while self.at < len(text) and text[self.at] not in ENDS + self.closing:
            found = UNQUOTED.match(text, self.at)
            if not found:
                why = f"the quote {text[self.at]} is never closed"
                raise self.wrong(self.at, "is no command", why, "close it, or write \\ before it where it is text")
            self._refuse_blank(found)
            self._add(found, word)
            self.at = found.end()
        return word.passage()

    def _refuse_blank(self, found: re.Match[str]) -> None:
        if found["escaped"] is not None and BROKEN.match(self.script.text, self.at):
            why = "blanks follow the backslash, so that it joins no lines and the command ends here"
            raise self.wrong(self.at, "is no continuation", why, "remove the blanks at the end of the line")
        space = (
            SPACES.search(found["verbatim"]) if found["verbatim"] and not found["verbatim"].startswith("<") else None
        )
        if space:
            why = f"U+{ord(space[0]):04X} looks like a blank, and is a letter to the shell"
            raise self.wrong(self.at + space.start(), "is no blank", why, "write a plain blank in its place")

    def _add(self, found: re.Match[str], word: _Word) -> None:
        if found["double"] is None:
            word.add(_literal(found, found["single"]), _start(found))
            return
        for piece in QUOTED.finditer(self.script.text, *found.span("double")):
            word.add(_literal(piece, None), _start(piece))


def _literal(found: re.Match[str], single: str | None) -> str:
    """Return what a piece of a word means."""
    if found["filled"] is not None:
        return "${" + found["filled"].strip("$`(){}").replace("{", "").replace("}", "") + "}"
    return next((text for text in (single, found["escaped"], found["verbatim"]) if text is not None), "")


def _start(found: re.Match[str]) -> int:
    return found.start(found.lastgroup or 0)
