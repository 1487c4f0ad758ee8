"""The shorthand of the AWS CLI, `Name=HBase` or `a=1,b=[{c=2}]`, as the same nodes as JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lint.reader.cursor import BLANK, TextCursor
from lint.reader.json_node import MOST_LEVELS
from lint.reader.node import Array, Member, Node, Object, Scalar
from lint.reader.source_text import SourceText, quoted, refusal
from sizing.problem import InvalidInput

__all__ = ["shorthand_object"]

KEY: Final = re.compile(r"([\w.\-#/:]+)\s*@?=")
QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
BARE: Final = re.compile(r"(?:<[^<>]*>|\$\{[^{}]*\}|[^,\[\]{}<$]|[<$])+")
ESCAPED: Final = re.compile(r"\\(['\"\\])")


def shorthand_object(passage: SourceText) -> Object:
    """One word of an argument. Raises InvalidInput where it is no shorthand."""
    reader = _Reader(passage=passage)
    node = reader.members(closing="", level=0)
    if reader.at < len(passage.text):
        raise reader.wrong("a comma is expected")
    return node


@dataclass(slots=True, kw_only=True)
class _Reader(TextCursor):
    def wrong(self, why: str) -> InvalidInput:
        """A refusal of what stands here."""
        found = self.passage.text[self.at : self.at + 20]
        what = f"is not shorthand of the AWS CLI at {quoted(found)}" if found else "is shorthand that ends too early"
        fix = "write Key=Value pairs with commas between, or JSON in single quotes"
        return refusal(self.passage.place(self.at), what=what, why=why, fix=fix)

    def members(self, closing: str, level: int) -> Object:
        """Pairs up to the closing brace, or to the end."""
        place = self.passage.place(self.at)
        members = []
        while True:
            self.peek()
            key = KEY.match(self.passage.text, self.at)
            if not key:
                raise self.wrong("Key=Value is expected")
            here = self.passage.place(self.at)
            self.at = key.end()
            members.append(Member(key=key[1], value=self._values(level + 1), place=here))
            if self.peek() != ",":
                break
            self.at += 1
        self._take(closing)
        return Object(members=tuple(members), place=place)

    def _values(self, level: int) -> Node:
        """Return a value, or several with commas between, as in `Args=a,b`."""
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
            raise self.wrong(f"it nests deeper than {MOST_LEVELS} levels")
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
        if found := QUOTED.match(text, self.at):
            self.at = found.end()
            return Scalar(text=ESCAPED.sub(r"\1", found[1] if found[1] is not None else found[2]), place=place)
        bare = BARE.match(text, self.at)
        self.at = bare.end() if bare else self.at
        return Scalar(text=bare[0].strip() if bare else "", place=place)

    def _take(self, closing: str) -> None:
        if self.peek() != closing and closing:
            raise self.wrong(f"{closing} is expected")
        self.at += len(closing)
