"""JSON as nodes with their places.

The standard library's reader gives no lines, and refuses the bare placeholders of a recipe (`"SizeInGB": <size>`).
YAML's would take both, and with them what the AWS CLI refuses: a comma too many, a word without quotes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from lint.reader.cursor import TextCursor
from lint.reader.node import Array, Member, Node, Object, Scalar
from lint.reader.source_text import SourceText, quoted, refusal
from sizing.problem import InvalidInput

__all__ = ["MOST_LEVELS", "json_node"]

# judgement: classifications nest 3 levels, a cluster 10.
MOST_LEVELS: Final = 50
PLACEHOLDER: Final = re.compile(r"<[^<>\n]*>|\$\{[^{}]*\}")
BARE: Final = re.compile(r"[^\s,\[\]{}\":]+")
LITERAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
TYPOGRAPHIC: Final = "\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"
STRING: Final = json.JSONDecoder()


def json_node(passage: SourceText) -> Node:
    """The one value of a text. Raises InvalidInput at the first place that is not JSON."""
    reader = _Reader(passage=passage)
    node = reader.value(level=0)
    if reader.peek():
        raise reader.wrong("the value ends before this", "remove what follows it, or check the brackets")
    return node


@dataclass(slots=True, kw_only=True)
class _Reader(TextCursor):
    def wrong(self, why: str, fix: str) -> InvalidInput:
        """A refusal of what stands here."""
        found = self.passage.text[self.at : self.at + 20].partition("\n")[0]
        if found[:1] and found[0] in TYPOGRAPHIC:
            why, fix = "a typographic quote is no quote to JSON", 'write " in its place'
        what = f"is not JSON at {quoted(found)}" if found else "is not JSON: it ends too early"
        return refusal(self.passage.place(self.at), what=what, why=why, fix=fix)

    def value(self, level: int) -> Node:
        """Whatever comes next."""
        if level > MOST_LEVELS:
            raise self.wrong(f"it nests deeper than {MOST_LEVELS} levels", "give the configurations alone")
        match self.peek():
            case "{":
                return self._object(level)
            case "[":
                return self._array(level)
            case '"':
                place = self.passage.place(self.at)
                return Scalar(text=self._string(), place=place)
            case _:
                return self._bare()

    def _object(self, level: int) -> Object:
        place = self.passage.place(self.at)
        members: list[Member] = []
        while self._goes_on("}", first=not members):
            if self.peek() != '"':
                raise self.wrong("a key is expected, in double quotes", "put the key in quotes, or remove the comma")
            here = self.passage.place(self.at)
            key = self._string()
            if self.peek() != ":":
                raise self.wrong(f"a colon is expected after {quoted(key)}", "check the quotes before it")
            self.at += 1
            members.append(Member(key=key, value=self.value(level + 1), place=here))
        return Object(members=tuple(members), place=place)

    def _array(self, level: int) -> Array:
        place = self.passage.place(self.at)
        items: list[Node] = []
        while self._goes_on("]", first=not items):
            items.append(self.value(level + 1))
        return Array(items=tuple(items), place=place)

    def _goes_on(self, closing: str, *, first: bool) -> bool:
        """Return whether another entry follows; takes the bracket or the comma."""
        if first:
            self.at += 1
        found = self.peek()
        if found == closing:
            self.at += 1
            return False
        if first:
            return True
        if found != ",":
            raise self.wrong(f"a comma or {closing} is expected", f"put a comma between two entries, {closing} last")
        self.at += 1
        return True

    def _string(self) -> str:
        try:
            text, end = STRING.raw_decode(self.passage.text, self.at)
            str(text).encode()
        except json.JSONDecodeError as error:
            self.at = error.pos
            raise self.wrong(error.msg, "close the quote on its line, and write \\n for a new line") from None
        except UnicodeEncodeError:
            raise self.wrong("half of a surrogate pair is no character", "write the character itself") from None
        self.at = end
        return str(text)

    def _bare(self) -> Scalar:
        """Return a number, a switch, null or a placeholder."""
        text = self.passage.text
        found = PLACEHOLDER.match(text, self.at) or BARE.match(text, self.at)
        if not found or not (found.re is PLACEHOLDER or LITERAL.fullmatch(found[0])):
            raise self.wrong("a value is expected", "put text in double quotes, or remove a comma that ends a list")
        place = self.passage.place(self.at)
        self.at = found.end()
        is_null = found[0] == "null"
        return Scalar(text=found[0], place=place, is_null=is_null, quoted=is_null or found.re is PLACEHOLDER)
