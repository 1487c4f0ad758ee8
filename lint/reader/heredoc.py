"""Here-documents of a shell script: the text of `cat > NAME <<EOF`, and of `$(cat <<EOF … )` in a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from lint.reader.source_text import SourceText, TextPiece

START: Final = r"<<(?P<indented>-?)[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)"
BODY: Final = r"[^\n]*\n(?P<text>.*?)^[ \t]*(?P=end)[ \t]*$"
FILE: Final = re.compile(rf"^[^\n#]*?\b(?:cat|tee)\b(?P<line>[^\n]*?{START}{BODY})", re.DOTALL | re.MULTILINE)
COMMAND: Final = re.compile(rf"\$\(\s*cat\s+{START}{BODY}", re.DOTALL | re.MULTILINE)
PIECE: Final = re.compile(
    r"(?P<joined>\\\n)|\\(?P<escaped>[$`\\])|(?P<filled>\$\{[^{}]*\}|\$[A-Za-z_]\w*|\$\([^()]*\)|`[^`]*`)"
    r"|(?P<verbatim>[^\\$`]+|[\\$`])"
)
EXPANDED, VERBATIM = "<<", "<<'"
"""How a correction is written in a here-document: with a backslash before what the shell expands, or as it is."""


def heredoc_file(script: SourceText, name: str) -> SourceText | None:
    """Return the text that a script writes to a file of that name; None where it writes no such file."""
    for heredoc in FILE.finditer(script.text):
        words = re.findall(r"[^\s'\"<>|;&]+", heredoc["line"].partition("\n")[0])
        if PurePosixPath(name) in map(PurePosixPath, words):
            return _passage(script, heredoc)
    return None


def heredoc_pieces(script: SourceText, offset: int) -> Iterator[tuple[str, TextPiece]]:
    """Yield the texts that `$(cat <<EOF …)` at an offset stands for, with their places; none for another command."""
    heredoc = COMMAND.match(script.text, offset)
    if heredoc:
        yield from _pieces(script, heredoc)


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
        yield (
            text,
            TextPiece(
                start=at, length=len(text), origin=piece.start(), origin_end=piece.end(), quote=(EXPANDED, start)
            ),
        )
        at += len(text)


def _passage(script: SourceText, heredoc: re.Match[str]) -> SourceText:
    pieces = list(_pieces(script, heredoc))
    text = "".join(part for part, _ in pieces)
    first = script.place(heredoc.start("text")).line
    breaks: list[int] = []
    for part, piece in pieces:
        breaks += [piece.start + line_end.end() for line_end in re.finditer("\n", part)]
    return SourceText(
        text=text,
        source=script.source,
        breaks=tuple(breaks),
        first_line=first,
        cited=script.cited,
        path=script.path,
        pieces=tuple(piece for _, piece in pieces),
    )
