"""YAML as the same nodes as JSON, with CloudFormation's short functions (`!Ref`) written out."""

from __future__ import annotations

from typing import Final

import yaml
from msgspec import Struct

from lint.reader.json_node import MOST_LEVELS
from lint.reader.node import Array, Member, Node, Object, Scalar
from lint.reader.source_text import SourceSpan, SourceText, refusal
from lint.reader.written import Notation, Written
from sizing.problem import InvalidInput

SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml where it was built in: the same language, several times faster."""

# judgement: a cluster is a few hundred entries. Beyond this, aliases multiply or refer to themselves.
MOST_ENTRIES: Final = 200_000
NULL: Final = "tag:yaml.org,2002:null"
MERGE: Final = "tag:yaml.org,2002:merge"
STYLES: Final = {None: Notation.YAML_PLAIN, "": Notation.YAML_PLAIN, "'": Notation.YAML_SINGLE, '"': Notation.JSON}
FIX: Final = "correct the line, or quote the value; indent with blanks, never with tabs"


def yaml_node(passage: SourceText) -> Node:
    """Return the document that a text is. Raises InvalidInput where it is not YAML."""
    try:
        _refuse_depth(passage)
        node = SafeLoader(passage.text).get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        where = passage.place(mark.index if mark else getattr(error, "position", 0))
        raise refusal(where, what="is not YAML", why=str(reason), fix=FIX) from None
    if node is None:
        raise refusal(
            passage.place(0), what="is empty", why="the file has only comments", fix="pass a file with settings"
        )
    return _Walk(passage=passage).node(node, 0)


def _refuse_depth(passage: SourceText) -> None:
    """Raise InvalidInput where brackets nest too deep, which would crash libyaml's composer."""
    level = 0
    for event in yaml.parse(passage.text, Loader=SafeLoader):
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if level > MOST_LEVELS:
            place = passage.place(event.start_mark.index if event.start_mark else 0)
            raise _refusal(place, f"it nests deeper than {MOST_LEVELS} levels")


def _refusal(place: SourceSpan, why: str) -> InvalidInput:
    return refusal(
        place, what="cannot be read", why=why, fix="write the entries out, without anchors, aliases or merges"
    )


class _Walk(Struct, kw_only=True):
    passage: SourceText
    entries: int = 0

    def node(self, node: yaml.Node, level: int) -> Node:
        """Return a node. Raises InvalidInput for aliases without end."""
        self.entries += 1
        place = self.passage.place(node.start_mark.index)
        if self.entries > MOST_ENTRIES or level > MOST_LEVELS:
            raise _refusal(place, "aliases refer to themselves, or multiply")
        plain = self._plain(node, level, place)
        if not node.tag.startswith("!") or node.tag == "!":
            return plain
        name = node.tag.removeprefix("!")
        function = name if name == "Ref" else f"Fn::{name}"
        return Object(members=(Member(key=function, value=plain, place=place),), place=place)

    def _plain(self, node: yaml.Node, level: int, place: SourceSpan) -> Node:
        if isinstance(node, yaml.MappingNode):
            members = tuple(self._member(key, value, level) for key, value in node.value)
            return Object(members=members, place=place)
        if isinstance(node, yaml.SequenceNode):
            return Array(items=tuple(self.node(item, level + 1) for item in node.value), place=place)
        return Scalar(
            text=str(node.value), place=place, is_null=node.tag == NULL, written=_written_scalar(self.passage, node)
        )

    def _member(self, key: yaml.Node, value: yaml.Node, level: int) -> Member:
        place = self.passage.place(key.start_mark.index)
        if not isinstance(key, yaml.ScalarNode):
            raise _refusal(place, "a key must be a word, not a list or a mapping")
        if key.tag == MERGE:
            raise _refusal(place, "it merges another mapping")
        return Member(
            key=str(key.value),
            value=self.node(value, level + 1),
            place=place,
            written=_written_scalar(self.passage, key),
        )


def _written_scalar(passage: SourceText, node: yaml.Node) -> Written | None:
    """Return where a scalar stands; None for a block, an empty scalar and one of several lines."""
    start, end = node.start_mark.index, node.end_mark.index
    notation = STYLES.get(getattr(node, "style", None))
    if notation is None or end <= start or "\n" in passage.text[start:end]:
        return None
    return Written(passage=passage, start=start, end=end, notation=notation)
