"""`aws emr create-cluster …` in a script, as the object that RunJobFlow takes.

The value of an option is JSON, the name of a file with JSON, or the shorthand of the AWS CLI, `Name=HBase` or
`a=1,b=[{c=2}]`. The AWS CLI makes a classification from the option --emrfs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.errors import InvalidInput, Problem
from warmbase.linter.reader.cluster import ReadProblems
from warmbase.linter.reader.node import MOST_LEVELS, Array, Member, Node, Object, Scalar, json_node
from warmbase.linter.reader.shell_words import shell_words
from warmbase.linter.reader.source_text import (
    BLANK,
    Notation,
    SourceSpan,
    SourceText,
    TextCursor,
    Written,
    heredoc_file,
    load_source,
    quoted,
    refusal,
)

TOKEN: Final = re.compile(
    r"(?P<command>(?<![\w-])emr(?>(?:[ \t]|\\\n)+)create-cluster(?=(?>(?:\s|\\\n)+)-))"
    r"|(?P<aws>(?P<backtick>`?)(?<![\w-])aws(?![\w-]))|(?P<end>`|(?<!\\)\n)|(?P<comment>(?:^|(?<=\s))#[^\n]*+)"
)
"""The parts of a script that decide where a command begins, each read once."""


def command_offsets(text: str) -> list[tuple[int, bool]]:
    """Return the offset after each such command, and whether it is in backticks; comments are skipped."""
    offsets = []
    aws: re.Match[str] | None = None
    for token in TOKEN.finditer(text):
        match token.lastgroup:
            case "command" if aws:
                offsets.append((token.end(), bool(aws["backtick"])))
            case "aws":
                aws = aws if aws and not token["backtick"] else token
            case "end":
                aws = None
    return offsets


def command_object(script: SourceText, folder: Path) -> Object:
    """Return the object of the one command of a script, whose `file://` paths are relative to `folder`.

    Raises InvalidInput with all problems.
    """
    (offset, in_backticks), *more = command_offsets(script.text)
    if more:
        why = f"another create-cluster is in line {script.place(offset).line}"
        fix = "put each command in a file of its own"
        raise refusal(script.place(more[0][0]), what="is a second cluster", why=why, fix=fix)
    collected = ReadProblems()
    words = shell_words(script, offset, in_backticks=in_backticks)
    options: dict[str, Option] = {}
    starts = [index for index, word in enumerate(words) if word.text.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=False):
        # Either `--option value` or `--option=value`.
        word = words[start]
        name, equals, _ = word.text.partition("=")
        if name not in OPTIONS:
            continue
        values = (*([word.after(len(name) + 1)] if equals else []), *words[start + 1 : end])
        place = word.place(0)
        if not values:
            collected.add(place, name, "the option has no value", "add the value, or remove the option")
        if name in options:
            why = f"the option is already in line {options[name].place.line}, and only the last would count"
            collected.add(place, name, why, "remove one of the two")
        options[name] = Option(name=name, place=place, values=values)
    stated = {name: option for name, option in options.items() if option.values}
    members = _launch_members(stated, folder, collected.problems)
    collected.refuse()
    return Object(members=members, place=script.place(offset))


FILE: Final = re.compile(r"fileb?://(.+)", re.DOTALL)
ELSEWHERE: Final = re.compile(r"(?:https?|s3)://")
GAP: Final = re.compile(r"<[^<>]+>|\$\{[^{}]*\}")


class Option(Struct, frozen=True, kw_only=True):
    """An option with the words of its value; `place` is where its name stands."""

    name: str
    place: SourceSpan
    values: tuple[SourceText, ...]


def _scalar_node(option: Option, folder: Path) -> Node:
    """Return the first word, unchanged."""
    del folder
    return Scalar(text=option.values[0].text, place=option.values[0].place(0))


def _array_node(option: Option, folder: Path) -> Node:
    """Return the value as a list. Raises InvalidInput, as _object_node does, where it cannot be read."""
    document = _document(option, folder)
    if document is not None:
        return document
    return Array(items=tuple(shorthand_object(value) for value in option.values), place=option.place)


def _object_node(option: Option, folder: Path) -> Node:
    """Return the value as an object."""
    document = _document(option, folder)
    return shorthand_object(option.values[0]) if document is None else document


def _document(option: Option, folder: Path) -> Node | None:
    """Return the JSON of the value, or of the file that it names; None for shorthand."""
    value = option.values[0]
    text = value.text.strip()
    if ELSEWHERE.match(text):
        fix = f"download it, then pass it by --file, or as {option.name} file://NAME"
        raise refusal(value.place(0), what=option.name, why=f"lint does not download {quoted(text)}", fix=fix)
    if file := FILE.fullmatch(text):
        if written := heredoc_file(value.script, file[1]) if value.script else None:
            return json_node(written)
        return json_node(load_source(folder / file[1], cited=value.place(0)))
    if text.startswith(("[", "{")):
        if len(option.values) > 1:
            why = f"the shell ends the JSON before {quoted(option.values[1].text)}"
            fix = "put the JSON in single quotes, and write '\\'' for an apostrophe inside it"
            raise refusal(option.values[1].place(0), what=option.name, why=why, fix=fix)
        return json_node(value)
    if not GAP.fullmatch(text):
        return None
    if option.name == "--configurations" and text.startswith("$"):
        why = "the value is a shell variable, which lint cannot expand"
        fix = "write the JSON in the command in single quotes, or name its file with file://"
        raise refusal(value.place(0), what=option.name, why=why, fix=fix)
    return Scalar(text=text, place=value.place(0))


Members = tuple[Member, ...]
EC2_ATTRIBUTES: Final = {"KeyName": "Ec2KeyName", "SubnetId": "Ec2SubnetId", "SubnetIds": "Ec2SubnetIds"}
"""Names of `--ec2-attributes`, and what RunJobFlow calls them."""


class OptionTarget(NamedTuple):
    """The keys that an option sets, at the top or inside `Instances`, and how to read its value."""

    shape: Callable[[Option, Path], Node]
    keys: tuple[str, ...]
    in_instances: bool = False


OPTIONS: Final[Mapping[str, OptionTarget]] = {
    "--release-label": OptionTarget(_scalar_node, ("ReleaseLabel",)),
    "--configurations": OptionTarget(_array_node, ("Configurations",)),
    "--applications": OptionTarget(_array_node, ("Applications",)),
    "--managed-scaling-policy": OptionTarget(_object_node, ("ManagedScalingPolicy",)),
    "--auto-termination-policy": OptionTarget(_object_node, ("AutoTerminationPolicy",)),
    "--emrfs": OptionTarget(_object_node, ("Configurations",)),
    "--instance-groups": OptionTarget(_array_node, ("InstanceGroups",), in_instances=True),
    "--instance-fleets": OptionTarget(_array_node, ("InstanceFleets",), in_instances=True),
    "--instance-type": OptionTarget(_scalar_node, ("MasterInstanceType", "SlaveInstanceType"), in_instances=True),
    "--instance-count": OptionTarget(_scalar_node, ("InstanceCount",), in_instances=True),
    "--ec2-attributes": OptionTarget(_object_node, ("Ec2KeyName",), in_instances=True),
    "--security-configuration": OptionTarget(_scalar_node, ("SecurityConfiguration",)),
    "--cli-input-json": OptionTarget(_object_node, ()),
}


def _launch_members(options: Mapping[str, Option], folder: Path, problems: list[Problem]) -> Members:
    """Return the members of the object; an option overrides --cli-input-json.

    Adds a problem for each value that cannot be read.
    """
    below: Members = ()
    top: list[Member] = []
    instances: list[Member] = []
    for name, option in options.items():
        target = OPTIONS[name]
        try:
            node = target.shape(option, folder)
        except InvalidInput as error:
            problems += error.problems
            continue
        if name == "--cli-input-json":
            if isinstance(node, Object):
                below = node.members
            else:
                fix = "pass an object such as --generate-cli-skeleton prints"
                where = str(node.place)
                problems.append(Problem(where=where, what=name, why="the JSON is not an object", fix=fix))
        elif name == "--ec2-attributes":
            # The attributes become members of `Instances`, under the names of RunJobFlow.
            for member in node.members if isinstance(node, Object) else ():
                if member.key in EC2_ATTRIBUTES:
                    instances.append(replace(member, key=EC2_ATTRIBUTES[member.key]))
                elif member.key == "AvailabilityZone":
                    placement = Object(members=(member,), place=member.place)
                    instances.append(replace(member, key="Placement", value=placement))
        else:
            if name == "--emrfs":
                node = _emrfs_classification(node, option.place)
            members = [Member(key=key, value=node, place=option.place) for key in target.keys]
            (instances if target.in_instances else top).extend(members)
    top = _with_one_list(top)
    if instances:
        # `Instances` is one object, whose keys may come from the JSON and from options.
        under = next((member.value for member in below if member.key == "Instances"), None)
        members = [*(_without(under.members, instances) if isinstance(under, Object) else ()), *instances]
        place = instances[0].place
        top = [*top, Member(key="Instances", value=Object(members=tuple(members), place=place), place=place)]
    return (*_without(below, top), *top)


def _without(below: Members, above: Iterable[Member]) -> Members:
    keys = {member.key for member in above}
    return tuple(member for member in below if member.key not in keys)


KEYS: Final = {
    "Consistent": "fs.s3.consistent",
    "RetryCount": "fs.s3.consistent.retryCount",
    "RetryPeriod": "fs.s3.consistent.retryPeriodSeconds",
    "SSE": "fs.s3.enableServerSideEncryption",
}
"""The keys that the AWS CLI writes for parts of the option; Encryption and Args are not read."""


def _emrfs_classification(node: Node, place: SourceSpan) -> Node:
    """Return a list with the classification emrfs-site, whose settings are those of the option."""
    properties = []
    for member in node.members if isinstance(node, Object) else ():
        if member.key in KEYS:
            value = member.value
            lower = Scalar(text=value.text.lower(), place=value.place) if isinstance(value, Scalar) else value
            properties.append(Member(key=KEYS[member.key], value=lower, place=place))
    name = Member(key="Classification", value=Scalar(text="emrfs-site", place=place), place=place)
    values = Member(key="Properties", value=Object(members=tuple(properties), place=place), place=place)
    return Array(items=(Object(members=(name, values), place=place),), place=place)


def _with_one_list(members: list[Member]) -> list[Member]:
    """Return members in which all lists of classifications are one."""
    lists = [member for member in members if member.key == "Configurations"]
    arrays = [member.value for member in lists if isinstance(member.value, Array)]
    if len(lists) < 2 or len(arrays) < len(lists):  # noqa: PLR2004 - one list needs nothing
        return members
    items = tuple(item for array in arrays for item in array.items)
    whole = Member(key="Configurations", value=Array(items=items, place=lists[0].place), place=lists[0].place)
    return [*(member for member in members if member.key != "Configurations"), whole]


KEY: Final = re.compile(r"([\w.\-#/:]+)\s*@?=")
QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
BARE: Final = re.compile(r"(?:<[^<>]*>|\$\{[^{}]*\}|[^,\[\]{}<$]|[<$])+")
ESCAPED: Final = re.compile(r"\\(['\"\\])")


def shorthand_object(passage: SourceText) -> Object:
    """Return the object that one word of an argument is. Raises InvalidInput where it is not shorthand."""
    reader = _Reader(passage=passage)
    node = reader.members(closing="", level=0)
    if reader.at < len(passage.text):
        raise reader.refusal("expected a comma")
    return node


class _Reader(TextCursor, kw_only=True):
    def refusal(self, why: str) -> InvalidInput:
        """Return the problem of the text that stands here."""
        here = self.passage.text[self.at : self.at + 20]
        what = f"is not AWS CLI shorthand at {quoted(here)}" if here else "is AWS CLI shorthand that ends too early"
        fix = "write Key=Value pairs separated by commas, or JSON in single quotes"
        return refusal(self.passage.place(self.at), what=what, why=why, fix=fix)

    def members(self, closing: str, level: int) -> Object:
        """Return the pairs up to the closing brace, or to the end."""
        place = self.passage.place(self.at)
        members = []
        while True:
            self.peek()
            key = KEY.match(self.passage.text, self.at)
            if not key:
                raise self.refusal("expected Key=Value")
            here = self.passage.place(self.at)
            self.at = key.end()
            written = self._written(*key.span(1))
            members.append(Member(key=key[1], value=self._values(level + 1), place=here, written=written))
            if self.peek() != ",":
                break
            self.at += 1
        self._take(closing)
        return Object(members=tuple(members), place=place)

    def _values(self, level: int) -> Node:
        """Return a value, or several that commas separate, as in `Args=a,b`."""
        first = self._value(level)
        items = [first]
        while isinstance(first, Scalar) and self.peek() == ",":
            blank = BLANK.match(self.passage.text, self.at + 1)
            if blank and KEY.match(self.passage.text, blank.end()):
                break
            self.at += 1
            items.append(self._value(level))
        return Array(items=tuple(items), place=first.place) if len(items) > 1 else first

    def _value(self, level: int) -> Node:
        if level > MOST_LEVELS:
            raise self.refusal(f"it nests deeper than {MOST_LEVELS} levels")
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
        if quote := QUOTED.match(text, self.at):
            self.at = quote.end()
            plain = ESCAPED.sub(r"\1", quote[1] if quote[1] is not None else quote[2])
            return Scalar(text=plain, place=place, written=self._written(*quote.span()))
        bare = BARE.match(text, self.at)
        self.at = bare.end() if bare else self.at
        plain = bare[0].strip() if bare else ""
        start = text.find(plain, bare.start()) if bare else self.at
        return Scalar(text=plain, place=place, written=self._written(start, start + len(plain)) if plain else None)

    def _written(self, start: int, end: int) -> Written:
        return Written(passage=self.passage, start=start, end=end, notation=Notation.SHORTHAND)

    def _take(self, closing: str) -> None:
        if self.peek() != closing and closing:
            raise self.refusal(f"expected {closing}")
        self.at += len(closing)
