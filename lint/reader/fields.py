"""The members of an object that describes a cluster, each read as the type that it must have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Self

from msgspec import Struct

from lint.reader.node import Array, Member, Node, Object, Scalar, is_gap, scalar_text
from lint.reader.problems import ReadProblems
from lint.reader.source_text import SourceSpan, quoted

# judgement: no count and no volume of EMR has more digits.
WHOLE: Final = re.compile(r"[0-9]{1,9}")


class Fields(Struct, frozen=True, kw_only=True):
    """An object of the file. A placeholder counts as absent, whatever its type should be."""

    object: Object
    problems: ReadProblems

    @classmethod
    def of(cls, node: Object, problems: ReadProblems) -> Self:
        """Return the fields of an object, and add a problem for each key that it has twice."""
        for again, before in node.repeats():
            why = f"the key is already in line {before.place.line}, and only the last would count"
            problems.add(again.place, again.key, why, "remove one of the two")
        return cls(object=node, problems=problems)

    @property
    def place(self) -> SourceSpan:
        """The place where the object begins."""
        return self.object.place

    def member(self, key: str) -> Member | None:
        """Return the member, unless it is absent, null or a placeholder."""
        member = self.object.get(key)
        return None if member is None or is_gap(member.value) else member

    def line(self, key: str) -> int | None:
        """Return the line of a key, also if its value is a placeholder; None where the value is empty."""
        member = self.object.get(key)
        if member is None or _is_empty(member.value):
            return None
        return member.place.linted_line

    def text(self, key: str) -> str | None:
        """Return a text; None where it is absent, and where it is not a text, which adds a problem."""
        member = self.member(key)
        if member is None:
            return None
        text = scalar_text(member.value)
        if text is None:
            self._problem(member, "the value is a list or an object", "write a single value")
        return text

    def whole(self, key: str) -> int | None:
        """Return a whole number, in quotes or without; None as for a text."""
        text = self.text(key)
        member = self.member(key)
        if text is None or member is None:
            return None
        if WHOLE.fullmatch(text):
            return int(text)
        self._problem(member, f"{quoted(text)} is not a whole number", "write a whole number")
        return None

    def fields(self, key: str) -> Fields | None:
        """Return the fields of an object inside this one; None as for a text."""
        member = self.member(key)
        if member is None:
            return None
        return self._fields(member.value, key)

    def entries(self, key: str) -> Iterator[Fields]:
        """Yield the objects of a list."""
        member = self.member(key)
        if member is None:
            return
        if not isinstance(member.value, Array):
            self._problem(member, "the value is not a list", "put it in [ ]")
            return
        for index, item in enumerate(member.value.items):
            fields = None if is_gap(item) else self._fields(item, f"{key}[{index}]")
            if fields:
                yield fields

    def _fields(self, node: Node, what: str) -> Fields | None:
        if isinstance(node, Object):
            return Fields.of(node, self.problems)
        self.problems.add(node.place, what, "the value is not an object", "write an object in { }")
        return None

    def _problem(self, member: Member, why: str, fix: str) -> None:
        self.problems.add(member.place, member.key, why, fix)


def _is_empty(node: Node) -> bool:
    if isinstance(node, Scalar):
        return node.is_null or not node.text.strip()
    return not (node.items if isinstance(node, Array) else node.members)
