"""JSON as nodes with their places.

The standard library's reader gives no lines, and rejects the bare placeholders of a recipe (`"SizeInGB": <size>`).
A YAML reader would accept both, but also what the AWS CLI rejects: an extra comma, or a word without quotes.
"""

from __future__ import annotations

import json
import re
from typing import Final

from lint.reader.node import Array, Member, Node, Object, Scalar
from lint.reader.source_text import SourceText, TextCursor, quoted, refusal
from lint.reader.written import Notation, Written
from sizing.problem import InvalidInput

# judgement: classifications nest 3 levels, a cluster 10.
MOST_LEVELS: Final = 50
PLACEHOLDER: Final = re.compile(r"<[^<>\n]*>|\$\{[^{}]*\}")
BARE: Final = re.compile(r"[^\s,\[\]{}\":]+")
LITERAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
TYPOGRAPHIC: Final = "\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"
STRING: Final = json.JSONDecoder()


def json_node(passage: SourceText) -> Node:
    """Return the value that a text is. Raises InvalidInput at the first place that is not JSON."""
    reader = _Reader(passage=passage)
    node = reader.value(level=0)
    if reader.peek():
        raise reader.refusal("the JSON value ends before this", "remove the rest, or check the brackets")
    return node


class _Reader(TextCursor, kw_only=True):
    def refusal(self, why: str, fix: str) -> InvalidInput:
        """Return the problem of the text that stands here."""
        here = self.passage.text[self.at : self.at + 20].partition("\n")[0]
        if here[:1] and here[0] in TYPOGRAPHIC:
            why, fix = "JSON does not accept typographic quotes", 'write " instead'
        what = f"is not JSON at {quoted(here)}" if here else "is not JSON: it ends too early"
        return refusal(self.passage.place(self.at), what=what, why=why, fix=fix)

    def value(self, level: int) -> Node:
        """Return the value that comes next."""
        if level > MOST_LEVELS:
            raise self.refusal(f"it nests deeper than {MOST_LEVELS} levels", "pass only the configurations")
        match self.peek():
            case "{":
                return self._object(level)
            case "[":
                return self._array(level)
            case '"':
                start, place = self.at, self.passage.place(self.at)
                return Scalar(text=self._string(), place=place, written=self._written(start))
            case _:
                return self._bare()

    def _object(self, level: int) -> Object:
        place = self.passage.place(self.at)
        members: list[Member] = []
        while self._goes_on("}", first=not members):
            if self.peek() != '"':
                raise self.refusal("expected a key in double quotes", "put the key in quotes, or remove the comma")
            start, here = self.at, self.passage.place(self.at)
            key = self._string()
            written = self._written(start)
            if self.peek() != ":":
                raise self.refusal(f"expected a colon after {quoted(key)}", "check the quotes before it")
            self.at += 1
            members.append(Member(key=key, value=self.value(level + 1), place=here, written=written))
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
        following = self.peek()
        if following == closing:
            self.at += 1
            return False
        if first:
            return True
        if following != ",":
            raise self.refusal(
                f"expected a comma or {closing}", f"put a comma between entries, and {closing} at the end"
            )
        self.at += 1
        return True

    def _written(self, start: int) -> Written:
        return Written(passage=self.passage, start=start, end=self.at, notation=Notation.JSON)

    def _string(self) -> str:
        try:
            text, end = STRING.raw_decode(self.passage.text, self.at)
            str(text).encode()
        except json.JSONDecodeError as error:
            self.at = error.pos
            raise self.refusal(error.msg, "close the quote on its line, and write \\n for a new line") from None
        except UnicodeEncodeError:
            raise self.refusal("half of a surrogate pair is not a character", "write the character itself") from None
        self.at = end
        return str(text)

    def _bare(self) -> Scalar:
        """Return a number, a boolean, null or a placeholder."""
        text = self.passage.text
        word = PLACEHOLDER.match(text, self.at) or BARE.match(text, self.at)
        if not word or not (word.re is PLACEHOLDER or LITERAL.fullmatch(word[0])):
            raise self.refusal(
                "expected a value", "put text in double quotes, or remove the comma at the end of a list"
            )
        place = self.passage.place(self.at)
        self.at = word.end()
        is_null = word[0] == "null"
        quoted_word = is_null or word.re is PLACEHOLDER
        return Scalar(
            text=word[0], place=place, is_null=is_null, quoted=quoted_word, written=self._written(word.start())
        )
