"""What each option of `aws emr create-cluster` becomes in RunJobFlow's object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from lint.reader.argument import Option, array_node, object_node, scalar_node
from lint.reader.node import Member, Node, Object
from lint.reader.source_text import refusal
from sizing.problem import InvalidInput, Problem

__all__ = ["OPTIONS", "launch_object"]

Members = tuple[Member, ...]


class OptionTarget(NamedTuple):
    """The keys that an option sets, there or within `Instances`."""

    shape: Callable[[Option, Path], Node]
    keys: tuple[str, ...]
    in_instances: bool = False


OPTIONS: Final[Mapping[str, OptionTarget]] = {
    "--release-label": OptionTarget(scalar_node, ("ReleaseLabel",)),
    "--configurations": OptionTarget(array_node, ("Configurations",)),
    "--applications": OptionTarget(array_node, ("Applications",)),
    "--managed-scaling-policy": OptionTarget(object_node, ("ManagedScalingPolicy",)),
    "--instance-groups": OptionTarget(array_node, ("InstanceGroups",), in_instances=True),
    "--instance-fleets": OptionTarget(array_node, ("InstanceFleets",), in_instances=True),
    "--instance-type": OptionTarget(scalar_node, ("MasterInstanceType", "SlaveInstanceType"), in_instances=True),
    "--instance-count": OptionTarget(scalar_node, ("InstanceCount",), in_instances=True),
    "--ec2-attributes": OptionTarget(object_node, ("Ec2KeyName",), in_instances=True),
    "--cli-input-json": OptionTarget(object_node, ()),
}


def launch_object(options: Mapping[str, Option], folder: Path, problems: list[Problem]) -> Members:
    """The members of the whole; an option wins over what --cli-input-json says. Adds what cannot be read."""
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
    return _laid_over(below, top, instances)


def _members(option: Option, target: OptionTarget, node: Node) -> Iterable[Member]:
    if option.name == "--ec2-attributes":
        key = node.get("KeyName") if isinstance(node, Object) else None
        return () if key is None else (Member(key="Ec2KeyName", value=key.value, place=key.place),)
    return (Member(key=key, value=node, place=option.place) for key in target.keys)


def _input(option: Option, node: Node) -> Members:
    if isinstance(node, Object):
        return node.members
    fix = "give the object that --generate-cli-skeleton prints"
    raise refusal(node.place, what=option.name, why="it is not an object", fix=fix)


def _laid_over(below: Members, top: list[Member], instances: list[Member]) -> Members:
    """Instances are one object in which each key may come from either."""
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
