"""The options of `aws emr create-cluster`: their values as nodes, and the object of RunJobFlow that they make.

A value is JSON, the name of a file with JSON, or the shorthand of the AWS CLI.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from lint.reader.emrfs_option import emrfs_classification, with_one_list
from lint.reader.heredoc import heredoc_file
from lint.reader.json_node import json_node
from lint.reader.node import Array, Member, Node, Object, Scalar
from lint.reader.shorthand import shorthand_object
from lint.reader.source_text import SourceSpan, SourceText, load_source, quoted, refusal
from sizing.problem import InvalidInput, Problem

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
        written = heredoc_file(value.script, file[1]) if value.script else None
        return json_node(written or load_source(folder / file[1], cited=value.place(0)))
    if text.startswith(("[", "{")):
        _refuse_more(option)
        return json_node(value)
    if GAP.fullmatch(text):
        return _placeholder(option)
    return None


def _placeholder(option: Option) -> Scalar:
    """Return a placeholder as a scalar. Raises InvalidInput where a shell variable holds all configurations."""
    value = option.values[0]
    if option.name == "--configurations" and value.text.strip().startswith("$"):
        fix = "write the JSON in the command in single quotes, or name its file with file://"
        raise refusal(
            value.place(0), what=option.name, why="the value is a shell variable, which lint cannot expand", fix=fix
        )
    return Scalar(text=value.text.strip(), place=value.place(0))


def _refuse_more(option: Option) -> None:
    if len(option.values) > 1:
        why = f"the shell ends the JSON before {quoted(option.values[1].text)}"
        fix = "put the JSON in single quotes, and write '\\'' for an apostrophe inside it"
        raise refusal(option.values[1].place(0), what=option.name, why=why, fix=fix)


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


def launch_object(options: Mapping[str, Option], folder: Path, problems: list[Problem]) -> Members:
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
            if name == "--cli-input-json":
                below = _input(option, node)
            (instances if target.in_instances else top).extend(_members(option, target, node))
        except InvalidInput as error:
            problems += error.problems
    return _laid_over(below, with_one_list(top), instances)


def _members(option: Option, target: OptionTarget, node: Node) -> Iterable[Member]:
    if option.name == "--ec2-attributes":
        return _placement(node) if isinstance(node, Object) else ()
    if option.name == "--emrfs":
        node = emrfs_classification(node, option.place)
    return (Member(key=key, value=node, place=option.place) for key in target.keys)


def _placement(attributes: Object) -> Iterator[Member]:
    """Yield the members of `Instances` that the EC2 attributes set, under RunJobFlow's names."""
    for member in attributes.members:
        if member.key in EC2_ATTRIBUTES:
            yield replace(member, key=EC2_ATTRIBUTES[member.key])
        elif member.key == "AvailabilityZone":
            yield replace(member, key="Placement", value=Object(members=(member,), place=member.place))


def _input(option: Option, node: Node) -> Members:
    if isinstance(node, Object):
        return node.members
    fix = "pass an object such as --generate-cli-skeleton prints"
    raise refusal(node.place, what=option.name, why="the JSON is not an object", fix=fix)


def _laid_over(below: Members, top: list[Member], instances: list[Member]) -> Members:
    """Return both sets of members; `Instances` is one object, whose keys may come from either."""
    if instances:
        under = next((member.value for member in below if member.key == "Instances"), None)
        members = _without(under.members, instances) if isinstance(under, Object) else ()
        place = instances[0].place
        value = Object(members=(*members, *instances), place=place)
        top = [*top, Member(key="Instances", value=value, place=place)]
    return (*_without(below, top), *top)


def _without(below: Members, above: Iterable[Member]) -> Members:
    keys = {member.key for member in above}
    return tuple(member for member in below if member.key not in keys)
