"""The members of an object that says something of a cluster, each as the type it has to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

from lint.reader.findings import ReadProblems
from lint.reader.node import Array, Member, Node, Object, Scalar, is_gap, scalar_text
from lint.reader.source_text import SourceSpan, quoted

__all__ = ["Fields"]

# judgement: no count and no volume of EMR has more digits.
WHOLE: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """An object of the file. A gap counts as nothing said, whatever should stand there."""

    object: Object
    findings: ReadProblems

    @classmethod
    def of(cls, node: Object, findings: ReadProblems) -> Self:
        """Notes the keys that the object says twice."""
        for again, before in node.repeats():
            why = f"stands in line {before.place.line} already, and only the last would count"
            findings.wrong(again.place, again.key, why, "remove one of the two")
        return cls(object=node, findings=findings)

    @property
    def place(self) -> SourceSpan:
        """Where the object begins."""
        return self.object.place

    def member(self, key: str) -> Member | None:
        """The member, unless nothing is said there."""
        member = self.object.get(key)
        return None if member is None or is_gap(member.value) else member

    def line(self, key: str) -> int | None:
        """The line of a key that is given, with a gap for its value too; empty lists and texts aside."""
        member = self.object.get(key)
        if member is None or not _says_something(member.value):
            return None
        return member.place.linted_line

    def text(self, key: str) -> str | None:
        """A text."""
        member = self.member(key)
        if member is None:
            return None
        text = scalar_text(member.value)
        if text is None:
            self._wrong(member, "it is a list or an object", "write one value")
        return text

    def whole(self, key: str) -> int | None:
        """A whole number, in quotes or without."""
        text = self.text(key)
        member = self.member(key)
        if text is None or member is None:
            return None
        if WHOLE.fullmatch(text):
            return int(text)
        self._wrong(member, f"{quoted(text)} is not a whole number", "write a whole number")
        return None

    def fields(self, key: str) -> Fields | None:
        """An object within."""
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
            self._wrong(member, "it is not a list", "put it in [ ]")
            return
        for index, item in enumerate(member.value.items):
            found = None if is_gap(item) else self._fields(item, f"{key}[{index}]")
            if found:
                yield found

    def _fields(self, node: Node, what: str) -> Fields | None:
        if isinstance(node, Object):
            return Fields.of(node, self.findings)
        self.findings.wrong(node.place, what, "it is not an object", "write an object in { }")
        return None

    def _wrong(self, member: Member, why: str, fix: str) -> None:
        self.findings.wrong(member.place, member.key, why, fix)


def _says_something(node: Node) -> bool:
    if isinstance(node, Scalar):
        return not node.is_null and bool(node.text.strip())
    return bool(node.items if isinstance(node, Array) else node.members)
