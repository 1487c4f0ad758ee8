"""Lists of classifications whose keys begin with small letters, as the console and Terraform accept them."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from lint.reader.node import Array, Member, Node, Object

CAPITALS: Final = {
    "classification": "Classification",
    "properties": "Properties",
    "configurations": "Configurations",
}


def with_capitals(node: Node) -> Node:
    """Return a list of classifications with the keys of EMR's API; the names of properties stay as they are."""
    if not isinstance(node, Array):
        return node
    return replace(node, items=tuple(map(_classification, node.items)))


def _classification(node: Node) -> Node:
    if not isinstance(node, Object):
        return node
    return replace(node, members=tuple(map(_member, node.members)))


def _member(member: Member) -> Member:
    key = CAPITALS.get(member.key, member.key)
    value = with_capitals(member.value) if key == "Configurations" else member.value
    return replace(member, key=key, value=value)
