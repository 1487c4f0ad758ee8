"""The nodes of JSON, YAML and the shorthand of the AWS CLI: scalars, arrays and objects, each with its place.

The place of a setting includes what is removed with it. Lists of classifications may have keys that begin with small
letters, as the console and Terraform accept them.

For JSON, the standard library's reader gives no lines, and rejects the bare placeholders of a recipe (`"SizeInGB":
<size>`). A YAML reader would accept both, but also what the AWS CLI rejects: an extra comma, or a word without quotes.
In YAML, CloudFormation's short functions (`!Ref`) become the objects for which they stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

import yaml
from msgspec import Struct
from msgspec.structs import replace

from warmbase.emr.cluster_spec import PLACEHOLDER, Setting
from warmbase.ground.errors import InvalidInput
from warmbase.linter.reader.source_text import (
    Notation,
    SourceSpan,
    SourceText,
    TextCursor,
    Written,
    WrittenSetting,
    alone_on_line,
    refusal,
)


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


def written_member(setting: Setting, members: Sequence[Member], index: int) -> WrittenSetting:
    """Return the setting that a member states, with its places."""
    member = members[index]
    key, value = member.written, _written_value(member)
    whole = None
    if key and value and len(members) > 1:
        text = key.passage.text
        in_brackets = JSON_START.match(text) or text[key.end : key.end + 1] != ":" or key.passage.pieces
        if not in_brackets:
            # The whole line of YAML is removed, unless it contains anything else.
            if line := alone_on_line(text, key.start, value.end):
                whole = replace(key, start=line[0], end=line[1])
        elif index + 1 < len(members):
            # An entry between commas is removed up to the next one; the last, from the end of the previous one.
            following = members[index + 1].written
            whole = replace(key, end=following.start) if following else None
        elif before := _written_value(members[index - 1]):
            whole = replace(key, start=before.end, end=value.end)
    return WrittenSetting(setting=setting, key=key, value=value, whole=whole)


JSON_START: Final = re.compile(r"\s*[\[{]")


def _written_value(member: Member) -> Written | None:
    return member.value.written if isinstance(member.value, Scalar) else None


CAPITALS: Final = {"classification": "Classification", "properties": "Properties", "configurations": "Configurations"}


def with_capitals(node: Node) -> Node:
    """Return a list of classifications with the keys of EMR's API; the names of properties stay as they are."""
    if not isinstance(node, Array):
        return node
    items: list[Node] = []
    for item in node.items:
        if isinstance(item, Object):
            members = [replace(member, key=CAPITALS.get(member.key, member.key)) for member in item.members]
            members = [
                replace(member, value=with_capitals(member.value)) if member.key == "Configurations" else member
                for member in members
            ]
            items.append(replace(item, members=tuple(members)))
        else:
            items.append(item)
    return replace(node, items=tuple(items))


# judgement: classifications nest 3 levels, a cluster 10.
MOST_LEVELS: Final = 50
# judgement: a cluster is a few hundred entries, and the plan of Terraform of 4 MiB has some 100,000. Beyond this, it is
# another file, or aliases multiply or refer to themselves.
MOST_ENTRIES: Final = 200_000
JSON_PLACEHOLDER: Final = re.compile(r"<[^<>\n]*>|\$\{[^{}]*\}")
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
    entries: int = 0

    def refusal(self, why: str, fix: str) -> InvalidInput:
        """Return the problem of the text that stands here."""
        here = self.passage.text[self.at : self.at + 20].partition("\n")[0]
        if here[:1] and here[0] in TYPOGRAPHIC:
            why, fix = "JSON does not accept typographic quotes", 'write " instead'
        place = self.passage.place(self.at)
        what = f"is not JSON at {place.quoted(here)}" if here else "is not JSON: it ends too early"
        what = what if place.cited is None else "is not JSON"
        return refusal(place, what=what, why=why, fix=fix)

    def value(self, level: int) -> Node:
        """Return the value that comes next."""
        if level > MOST_LEVELS:
            raise self.refusal(f"it nests deeper than {MOST_LEVELS} levels", "pass only the configurations")
        self.entries += 1
        if self.entries > MOST_ENTRIES:
            raise self.refusal(f"it has over {MOST_ENTRIES:,} values", "pass only the configurations")
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
                raise self.refusal(f"expected a colon after {here.quoted(key)}", "check the quotes before it")
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
        word = JSON_PLACEHOLDER.match(text, self.at) or BARE.match(text, self.at)
        if not word or not (word.re is JSON_PLACEHOLDER or LITERAL.fullmatch(word[0])):
            raise self.refusal(
                "expected a value", "put text in double quotes, or remove the comma at the end of a list"
            )
        place = self.passage.place(self.at)
        self.at = word.end()
        is_null = word[0] == "null"
        quoted_word = is_null or word.re is JSON_PLACEHOLDER
        return Scalar(
            text=word[0], place=place, is_null=is_null, quoted=quoted_word, written=self._written(word.start())
        )


SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml where it was built in: the same language, several times faster."""

NULL: Final = "tag:yaml.org,2002:null"
MERGE: Final = "tag:yaml.org,2002:merge"
STYLES: Final = {None: Notation.YAML_PLAIN, "": Notation.YAML_PLAIN, "'": Notation.YAML_SINGLE, '"': Notation.JSON}
FIX: Final = "correct the line, or quote the value; indent with blanks, never with tabs"


def yaml_node(passage: SourceText) -> Node:
    """Return the document that a text is. Raises InvalidInput where it is not YAML."""
    level = 0
    try:
        # Brackets that nest too deep would crash libyaml's composer.
        for number, event in enumerate(yaml.parse(passage.text, Loader=SafeLoader)):
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if level > MOST_LEVELS or number > MOST_ENTRIES:
                place = passage.place(event.start_mark.index if event.start_mark else 0)
                deep, long = f"it nests deeper than {MOST_LEVELS} levels", f"it has over {MOST_ENTRIES:,} entries"
                raise _refusal(place, deep if level > MOST_LEVELS else long)
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
        plain: Node
        if isinstance(node, yaml.MappingNode):
            plain = Object(members=tuple(self._member(key, value, level) for key, value in node.value), place=place)
        elif isinstance(node, yaml.SequenceNode):
            plain = Array(items=tuple(self.node(item, level + 1) for item in node.value), place=place)
        else:
            written = self._written(node)
            plain = Scalar(text=str(node.value), place=place, is_null=node.tag == NULL, written=written)
        if not node.tag.startswith("!") or node.tag == "!":
            return plain
        name = node.tag.removeprefix("!")
        function = name if name == "Ref" else f"Fn::{name}"
        return Object(members=(Member(key=function, value=plain, place=place),), place=place)

    def _member(self, key: yaml.Node, value: yaml.Node, level: int) -> Member:
        place = self.passage.place(key.start_mark.index)
        if not isinstance(key, yaml.ScalarNode):
            raise _refusal(place, "a key must be a word, not a list or a mapping")
        if key.tag == MERGE:
            raise _refusal(place, "it merges another mapping")
        name, node = str(key.value), self.node(value, level + 1)
        return Member(key=name, value=node, place=place, written=self._written(key))

    def _written(self, node: yaml.Node) -> Written | None:
        """Return where a scalar stands; None for a block, an empty scalar and one of several lines."""
        start, end = node.start_mark.index, node.end_mark.index
        notation = STYLES.get(getattr(node, "style", None))
        if notation is None or end <= start or "\n" in self.passage.text[start:end]:
            return None
        return Written(passage=self.passage, start=start, end=end, notation=notation)
