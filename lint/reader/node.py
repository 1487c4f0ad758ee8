"""The nodes of JSON, YAML and the shorthand of the AWS CLI: scalars, arrays and objects, each with its place."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from emr.cluster_spec import PLACEHOLDER
from lint.reader.source_text import SourceSpan
from lint.reader.written import Written


class Scalar(Struct, frozen=True, kw_only=True):
    """A text, number, boolean or placeholder as it is written; `quoted` is false for JSON numbers and booleans."""

    text: str
    place: SourceSpan
    is_null: bool = False
    quoted: bool = True
    written: Written | None = None


class Array(Struct, frozen=True, kw_only=True):
    """The nodes of a list in their order."""

    items: tuple[Node, ...]
    place: SourceSpan


class Member(Struct, frozen=True, kw_only=True):
    """A key with its value; `place` is where the key stands."""

    key: str
    value: Node
    place: SourceSpan
    written: Written | None = None


class Object(Struct, frozen=True, kw_only=True):
    """The members of an object in their order; a key may occur twice."""

    members: tuple[Member, ...]
    place: SourceSpan

    def get(self, key: str) -> Member | None:
        """Return the last member with a key, which is the one that JSON readers keep."""
        return next((member for member in reversed(self.members) if member.key == key), None)

    def keys(self) -> set[str]:
        """Return all keys."""
        return {member.key for member in self.members}

    def repeats(self) -> Iterator[tuple[Member, Member]]:
        """Yield each member whose key occurs before, with that earlier member."""
        before: dict[str, Member] = {}
        for member in self.members:
            if member.key in before:
                yield member, before[member.key]
            before[member.key] = member


Node = Scalar | Array | Object


def scalar_text(node: Node) -> str | None:
    """Return the text of a scalar; None for another node. A CloudFormation function becomes `${…}`."""
    if isinstance(node, Scalar):
        return node.text
    if not isinstance(node, Object) or len(node.members) != 1:
        return None
    function, argument = node.members[0].key, node.members[0].value
    if function == "Fn::Sub" and isinstance(argument, Scalar):
        return argument.text.replace("${!", "${")  # how Fn::Sub writes `${` where it has nothing to fill in
    if function == "Ref" and isinstance(argument, Scalar):
        return f"${{{argument.text}}}"
    return f"${{{function}}}" if function.startswith("Fn::") else None


def is_gap(node: Node) -> bool:
    """Return whether a node is null or a placeholder."""
    text = scalar_text(node)
    return text is not None and (bool(PLACEHOLDER.search(text)) or (isinstance(node, Scalar) and node.is_null))
