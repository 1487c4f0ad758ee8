"""The option --emrfs of `aws emr create-cluster`, from which the AWS CLI makes a classification."""

from __future__ import annotations

from typing import Final

from lint.reader.node import Array, Member, Node, Object, Scalar
from lint.reader.source_text import SourceSpan

KEYS: Final = {
    "Consistent": "fs.s3.consistent",
    "RetryCount": "fs.s3.consistent.retryCount",
    "RetryPeriod": "fs.s3.consistent.retryPeriodSeconds",
    "SSE": "fs.s3.enableServerSideEncryption",
}
"""The keys that the AWS CLI writes for parts of the option; Encryption and Args are not read."""


def emrfs_classification(node: Node, place: SourceSpan) -> Node:
    """Return a list with the classification emrfs-site, whose settings are those of the option."""
    members = node.members if isinstance(node, Object) else ()
    properties = tuple(
        Member(key=KEYS[member.key], value=_lower(member.value), place=place)
        for member in members
        if member.key in KEYS
    )
    name = Member(key="Classification", value=Scalar(text="emrfs-site", place=place), place=place)
    values = Member(key="Properties", value=Object(members=properties, place=place), place=place)
    return Array(items=(Object(members=(name, values), place=place),), place=place)


def with_one_list(members: list[Member]) -> list[Member]:
    """Return members in which all lists of classifications are one."""
    lists = [member for member in members if member.key == "Configurations"]
    arrays = [member.value for member in lists if isinstance(member.value, Array)]
    if len(lists) < 2 or len(arrays) < len(lists):  # noqa: PLR2004 - one list needs nothing
        return members
    items = tuple(item for array in arrays for item in array.items)
    whole = Member(key="Configurations", value=Array(items=items, place=lists[0].place), place=lists[0].place)
    return [*(member for member in members if member.key != "Configurations"), whole]


def _lower(value: Node) -> Node:
    if not isinstance(value, Scalar):
        return value
    return Scalar(text=value.text.lower(), place=value.place)
