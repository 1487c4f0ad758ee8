"""The shorthand of the AWS CLI, `Name=HBase` or `a=1,b=[{c=2}]`, as the same nodes as JSON."""

from __future__ import annotations

import re
from typing import Final

from lint.reader.json_node import MOST_LEVELS
from lint.reader.node import Array, Member, Node, Object, Scalar
from lint.reader.source_text import BLANK, SourceText, TextCursor, quoted, refusal
from lint.reader.written import Notation, Written
from sizing.problem import InvalidInput

KEY: Final = re.compile(r"([\w.\-#/:]+)\s*@?=")
QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
BARE: Final = re.compile(r"(?:<[^<>]*>|\$\{[^{}]*\}|[^,\[\]{}<$]|[<$])+")
ESCAPED: Final = re.compile(r"\\(['\"\\])")


def shorthand_object(passage: SourceText) -> Object:
    """Return the object that one word of an argument is. Raises InvalidInput where it is not shorthand."""
    reader = _Reader(passage=passage)
    node = reader.members(closing="", level=0)
    if reader.at < len(passage.text):
        raise reader.refusal("expected a comma")
    return node


class _Reader(TextCursor, kw_only=True):
    def refusal(self, why: str) -> InvalidInput:
        """Return the problem of the text that stands here."""
        here = self.passage.text[self.at : self.at + 20]
        what = f"is not AWS CLI shorthand at {quoted(here)}" if here else "is AWS CLI shorthand that ends too early"
        fix = "write Key=Value pairs separated by commas, or JSON in single quotes"
        return refusal(self.passage.place(self.at), what=what, why=why, fix=fix)

    def members(self, closing: str, level: int) -> Object:
        """Return the pairs up to the closing brace, or to the end."""
        place = self.passage.place(self.at)
        members = []
        while True:
            self.peek()
            key = KEY.match(self.passage.text, self.at)
            if not key:
                raise self.refusal("expected Key=Value")
            here = self.passage.place(self.at)
            self.at = key.end()
            written = self._written(*key.span(1))
            members.append(Member(key=key[1], value=self._values(level + 1), place=here, written=written))
            if self.peek() != ",":
                break
            self.at += 1
        self._take(closing)
        return Object(members=tuple(members), place=place)

    def _values(self, level: int) -> Node:
        """Return a value, or several that commas separate, as in `Args=a,b`."""
        first = self._value(level)
        items = [first]
        while isinstance(first, Scalar) and self.peek() == "," and not self._key_follows():
            self.at += 1
            items.append(self._value(level))
        return Array(items=tuple(items), place=first.place) if len(items) > 1 else first

    def _key_follows(self) -> bool:
        blank = BLANK.match(self.passage.text, self.at + 1)
        return bool(blank and KEY.match(self.passage.text, blank.end()))

    def _value(self, level: int) -> Node:
        if level > MOST_LEVELS:
            raise self.refusal(f"it nests deeper than {MOST_LEVELS} levels")
        match self.peek():
            case "{":
                self.at += 1
                return self.members("}", level)
            case "[":
                return self._list(level)
            case _:
                return self._scalar()

    def _list(self, level: int) -> Array:
        place = self.passage.place(self.at)
        self.at += 1
        items: list[Node] = []
        while self.peek() != "]":
            items.append(self._value(level + 1))
            if self.peek() != ",":
                break
            self.at += 1
        self._take("]")
        return Array(items=tuple(items), place=place)

    def _scalar(self) -> Scalar:
        place = self.passage.place(self.at)
        text = self.passage.text
        if quote := QUOTED.match(text, self.at):
            self.at = quote.end()
            plain = ESCAPED.sub(r"\1", quote[1] if quote[1] is not None else quote[2])
            return Scalar(text=plain, place=place, written=self._written(*quote.span()))
        bare = BARE.match(text, self.at)
        self.at = bare.end() if bare else self.at
        plain = bare[0].strip() if bare else ""
        start = text.find(plain, bare.start()) if bare else self.at
        return Scalar(text=plain, place=place, written=self._written(start, start + len(plain)) if plain else None)

    def _written(self, start: int, end: int) -> Written:
        return Written(passage=self.passage, start=start, end=end, notation=Notation.SHORTHAND)

    def _take(self, closing: str) -> None:
        if self.peek() != closing and closing:
            raise self.refusal(f"expected {closing}")
        self.at += len(closing)
