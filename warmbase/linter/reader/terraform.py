"""Terraform's `aws_emr_cluster`, in a file or in the JSON of a plan, as the object that RunJobFlow takes.

In Terraform's language, blocks are lists of objects, and a reference is `${ … }`. python-hcl2 parses it. It is imported
when a file of Terraform is read, because nothing else needs it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from warmbase.ground.errors import InvalidInput
from warmbase.linter.reader.node import (
    MOST_ENTRIES,
    MOST_LEVELS,
    Array,
    Member,
    Node,
    Object,
    Scalar,
    is_gap,
    json_node,
    with_capitals,
)
from warmbase.linter.reader.source_text import Notation, SourceSpan, SourceText, Written, load_source, quoted, refusal

if TYPE_CHECKING:
    from lark import Token, Tree
    from lark.exceptions import LarkError

    Expression = Tree[Token]

RESOURCE: Final = re.compile(r'^[ \t]*resource[ \t]+"aws_emr_(?:cluster|instance_group)"', re.MULTILINE)
CLUSTER, GROUP, SCALING = "aws_emr_cluster", "aws_emr_instance_group", "aws_emr_managed_scaling_policy"
PLAN_KEYS: Final = ("planned_values", "resource_changes", "values")
TOP: Final = {
    "release_label": "ReleaseLabel",
    "kerberos_attributes": "KerberosAttributes",
    "auto_termination_policy": "AutoTerminationPolicy",
    "security_configuration": "SecurityConfiguration",
}
ATTRIBUTES: Final = {"key_name": "Ec2KeyName", "subnet_id": "Ec2SubnetId", "subnet_ids": "Ec2SubnetIds"}
GROUPS: Final = {"master_instance_group": "MASTER", "core_instance_group": "CORE"}
FLEETS: Final = {"master_instance_fleet": "MasterInstanceFleet", "core_instance_fleet": "CoreInstanceFleet"}
VOLUME: Final = {"type": "VolumeType", "size": "SizeInGB", "iops": "Iops", "throughput": "Throughput"}
ONE: Final = "1"
"""Terraform's default for the number of nodes of a group, and of volumes."""


def is_terraform(text: str) -> bool:
    """Return whether a text is a file of Terraform with a cluster or an instance group."""
    return RESOURCE.search(text) is not None


def plan_object(plan: Object) -> Object | None:
    """Return the cluster of a plan or a state, as `terraform show -json` prints it; None for another object.

    Raises InvalidInput unless there is exactly one cluster.
    """
    if plan.get("format_version") is None or not any(plan.get(key) for key in PLAN_KEYS):
        return None
    modules = (member.value for key in ("planned_values", "values") if (member := plan.get(key)))
    resources = [entry for values in modules for entry in _of_module(values, "root_module")]
    if not resources:
        for change in _items(plan, "resource_changes"):
            details = change.get("change")
            after = details.value.get("after") if details and isinstance(details.value, Object) else None
            if after and isinstance(after.value, Object):
                resources.append((_text(change, "type"), after.value))
    return _cluster_object(resources, plan.place)


def _of_module(values: Node, key: str) -> Iterator[tuple[str, Object]]:
    """Yield the resources of a module and of those inside it, each with its type."""
    module = values.get(key) if isinstance(values, Object) else None
    modules = module.value.items if module and isinstance(module.value, Array) else (module.value,) if module else ()
    for node in modules:
        for resource in _items(node, "resources"):
            planned = resource.get("values")
            if planned and isinstance(planned.value, Object):
                yield _text(resource, "type"), planned.value
        yield from _of_module(node, "child_modules")


def _cluster_object(resources: list[tuple[str, Object]], place: SourceSpan) -> Object:
    clusters = [resource for kind, resource in resources if kind == CLUSTER]
    groups = [resource for kind, resource in resources if kind == GROUP]
    policies = [resource for kind, resource in resources if kind == SCALING]
    if len(clusters) > 1 or not (clusters or groups):
        why = f"it has {len(clusters)} resources of type {CLUSTER}"
        raise refusal(place, what="is not one cluster", why=why, fix="pass a file or a plan with one cluster")
    cluster = clusters[0] if clusters else Object(members=(), place=place)
    top = []
    for member in _set(cluster):
        if member.key in TOP:
            top.append(replace(member, key=TOP[member.key]))
        elif member.key == "applications" and isinstance(member.value, Array):
            names = tuple(_object(name.place, {"Name": name}) for name in member.value.items)
            top.append(replace(member, key="Applications", value=Array(items=names, place=member.place)))
    top += _configurations(cluster)
    top += [Member(key="ManagedScalingPolicy", value=one, place=one.place) for one in policies[:1]]
    return Object(members=(*top, _instances(cluster, groups)), place=cluster.place)


def _configurations(resource: Object) -> Iterator[Member]:
    """Yield the classifications, which `configurations_json` and `configurations` hold as a text of JSON."""
    for key in ("configurations_json", "configurations"):
        member = resource.get(key)
        if member and (document := _document(member.value)):
            yield replace(member, key="Configurations", value=with_capitals(document))
            return


def _document(node: Node) -> Node | None:
    """Return the JSON of a text; None for a reference, an address and an empty list of blocks."""
    if not isinstance(node, Scalar):
        return node if isinstance(node, Array) and node.items else None
    # The text of a heredoc, or of a file, is a passage of its own.
    passage = node.written.passage if node.written and node.written.end == len(node.written.passage.text) else None
    text = (passage.text if passage else node.text).strip()
    if node.is_null or not text.startswith(("[", "{")):
        return None
    if passage:
        return json_node(passage)
    return json_node(SourceText(text=text, source=node.place.source, breaks=(), first_line=node.place.line))


def _instances(cluster: Object, groups: list[Object]) -> Member:
    listed = [_group(block, role) for key, role in GROUPS.items() for block in _items(cluster, key)]
    listed += [_group(group, "TASK") for group in groups]
    place = listed[0].place if listed else cluster.place
    members = []
    if listed:
        members.append(Member(key="InstanceGroups", value=Array(items=tuple(listed), place=place), place=place))
    for names, blocks in ((FLEETS, [cluster]), (ATTRIBUTES, _items(cluster, "ec2_attributes"))):
        for block in blocks:
            members += [replace(member, key=names[member.key]) for member in _set(block) if member.key in names]
    return Member(key="Instances", value=Object(members=tuple(members), place=place), place=place)


def _group(group: Object, role: str) -> Object:
    count = group.get("instance_count")
    values: dict[str, Node] = {
        "InstanceRole": Scalar(text=role, place=group.place),
        "InstanceCount": count.value if count and not _is_null(count) else Scalar(text=ONE, place=group.place),
    }
    kind = group.get("instance_type")
    if kind:
        values["InstanceType"] = kind.value
    volumes = tuple(map(_volume, _items(group, "ebs_config")))
    if volumes:
        devices = Array(items=volumes, place=volumes[0].place)
        values["EbsConfiguration"] = _object(group.place, {"EbsBlockDeviceConfigs": devices})
    return Object(members=(*_object(group.place, values).members, *_configurations(group)), place=group.place)


def _volume(block: Object) -> Object:
    fields = {VOLUME[member.key]: member.value for member in _set(block) if member.key in VOLUME}
    count = block.get("volumes_per_instance")
    volumes = count.value if count and not _is_null(count) else Scalar(text=ONE, place=block.place)
    specification = _object(block.place, fields)
    return _object(block.place, {"VolumeSpecification": specification, "VolumesPerInstance": volumes})


def _object(place: SourceSpan, values: Mapping[str, Node]) -> Object:
    return Object(
        members=tuple(Member(key=key, value=value, place=place) for key, value in values.items()), place=place
    )


def _set(resource: Object) -> Iterator[Member]:
    """Yield the members that are set: a plan has null, or an empty list, for others."""
    for member in resource.members:
        empty = isinstance(member.value, Array) and not member.value.items
        if not empty and not _is_null(member):
            yield member


def _is_null(member: Member) -> bool:
    return isinstance(member.value, Scalar) and member.value.is_null


def _items(node: Node, key: str) -> Iterator[Object]:
    """Yield the objects of a list of blocks."""
    member = node.get(key) if isinstance(node, Object) else None
    items = member.value.items if member and isinstance(member.value, Array) else ()
    return (item for item in items if isinstance(item, Object))


def _text(node: Object, key: str) -> str:
    member = node.get(key)
    return member.value.text if member and isinstance(member.value, Scalar) and not is_gap(member.value) else ""


HEREDOC: Final = re.compile(r"<<-?(?P<end>\w+)\n")
REFERENCE: Final = re.compile(r"(?<!\$)\$\{")
DIRECTIVE: Final = re.compile(r"(?<!%)%\{")
ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\r": "\r", '\\"': '"', "\\\\": "\\"}
ESCAPE: Final = re.compile(r'\\[ntr"\\]')
LITERALS: Final = frozenset({"int_lit", "float_lit", "literal_value", "identifier"})
CLOSING: Final = {
    "RBRACE": "closing brace",
    "RSQB": "closing bracket",
    "RPAR": "closing parenthesis",
    "DBLQUOTE": "quote",
}
LONGEST_QUOTE: Final = 40
MODULE_PATH: Final = "${ path.module}/"


def file_object(passage: SourceText, folder: Path) -> Object:
    """Return the cluster of a file of Terraform. Files that it names are relative to `folder`.

    Raises InvalidInput where the text is not Terraform's language, and unless there is exactly one cluster.
    """
    from hcl2.api import parses_to_tree  # noqa: PLC0415 - only files of Terraform need it
    from lark.exceptions import LarkError as ParseError  # noqa: PLC0415

    try:
        tree = parses_to_tree(passage.text if passage.text.endswith("\n") else f"{passage.text}\n")
    except ParseError as error:
        raise _syntax_refusal(passage, error) from None
    body = _parts(tree)[0]
    local_values = {
        _name(attribute): _parts(attribute)[-1]
        for block in _parts(body)
        if block.data == "block" and _name(block) == "locals"
        for attribute in _parts(_body_of(block))
        if attribute.data == "attribute"
    }
    file = _Reader(passage=passage, folder=folder, locals=local_values).body(body)
    blocks = file.get("resource")
    items = blocks.value.items if blocks and isinstance(blocks.value, Array) else ()
    resources = [(_text(item, "0"), item) for item in items if isinstance(item, Object)]
    return _cluster_object(resources, file.place)


def _syntax_refusal(passage: SourceText, error: LarkError) -> InvalidInput:
    """Return the error of a text that does not parse, with its line, its column and the text there."""
    line, column = (getattr(error, name, None) for name in ("line", "column"))
    if not isinstance(line, int) or not isinstance(column, int) or line < 1:
        why, line = "it cannot be parsed", 1
    elif getattr(getattr(error, "token", None), "type", "") == "$END":
        # The parser names what it would accept in no order, and a quote wherever a text could begin.
        closing = next((word for name, word in CLOSING.items() if name in getattr(error, "expected", ())), None)
        why = f"the file ends before the {closing or 'end of the block'} of what begins here"
    else:
        rest = passage.text.splitlines()[line - 1][column - 1 :].strip()
        why = f"column {column}: {quoted(rest[:LONGEST_QUOTE])} is not valid here"
    where = SourceSpan(source=passage.source, line=line)
    fix = "correct this line; `terraform validate` checks the whole file"
    return refusal(where, what="is not valid Terraform", why=why, fix=fix)


class _Reader(Struct, frozen=True, kw_only=True):
    passage: SourceText
    folder: Path
    locals: Mapping[str, Expression]
    """The expressions of `locals` by name; a reference to one of them is read as the expression."""
    entries: Iterator[int] = field(default_factory=count)

    def body(self, body: Expression) -> Object:
        """Return the attributes and blocks of a body; labels of a block are its members `0` and `1`."""
        members: dict[str, list[Member]] = {}
        for part in _parts(body):
            for member in self._member(part):
                members.setdefault(member.key, []).append(member)
        return Object(members=tuple(map(_joined, members.values())), place=self._place(body))

    def _member(self, part: Expression) -> Iterator[Member]:
        place = self._place(part)
        if part.data == "attribute":
            yield Member(key=_name(part), value=self._value(_parts(part)[-1], 0), place=place)
        elif part.data == "block":
            labels = [label for label in _parts(part)[1:] if label.data in {"string", "identifier"}]
            members = [
                Member(key=str(index), value=self._string(label), place=place) for index, label in enumerate(labels)
            ]
            inside = self.body(_body_of(part))
            value = Object(members=(*members, *inside.members), place=place)
            yield Member(key=_name(part), value=Array(items=(value,), place=place), place=place)

    def _value(self, expression: Expression, level: int) -> Node:
        """Return the node of an expression; a placeholder for one that only Terraform can compute."""
        if next(self.entries) > MOST_ENTRIES:
            why = f"it has over {MOST_ENTRIES:,} values: its locals refer to themselves, or multiply"
            raise refusal(self._place(expression), what="cannot be read", why=why, fix="write the values out")
        while expression.data == "expr_term" and len(_parts(expression)) == 1:
            expression = _parts(expression)[0]
        name = self._text(expression)
        if (
            name.startswith("local.")
            and (local := self.locals.get(name.removeprefix("local.")))
            and level < MOST_LEVELS
        ):
            return self._value(local, level + 1)
        kind = str(expression.data)
        if kind in LITERALS and _is_literal(name):
            return Scalar(text=name, place=self._place(expression), is_null=name == "null", quoted=name == "null")
        if kind == "tuple":
            items = tuple(self._value(item, level + 1) for item in _parts(expression))
            return Array(items=items, place=self._place(expression))
        if kind in {"object", "function_call"}:
            return (self._object if kind == "object" else self._call)(expression, level)
        scalar = {"string": self._string, "heredoc_template": self._heredoc, "heredoc_template_trim": self._heredoc}
        return scalar.get(kind, self._reference)(expression)

    def _object(self, expression: Expression, level: int) -> Object:
        members = []
        for element in _parts(expression):
            if element.data == "object_elem":
                key, value = _parts(element)[0], _parts(element)[-1]
                strings = list(key.find_data("string"))
                text = self._string(strings[0]).text if strings else self._text(key)
                members.append(Member(key=text, value=self._value(value, level + 1), place=self._place(element)))
        return Object(members=tuple(members), place=self._place(expression))

    def _call(self, expression: Expression, level: int) -> Node:
        """Return what `jsonencode` encodes and what the file of `file` holds; a placeholder for other functions."""
        name = self._text(_parts(expression)[0])
        arguments = [part for call in _parts(expression)[1:] for part in _parts(call)]
        if len(arguments) == 1 and name == "jsonencode":
            return self._value(arguments[0], level + 1)
        if len(arguments) == 1 and name == "file":
            path = self._value(arguments[0], level + 1)
            if isinstance(path, Scalar) and "${" not in path.text.removeprefix(MODULE_PATH):
                file = load_source(self.folder / path.text.removeprefix(MODULE_PATH), cited=self._place(expression))
                # The file is read only as JSON: as any other value, a message could quote a file of the reader's.
                return replace(_embedded_text(file, self._place(expression)), text="${ file }")
        return self._reference(expression)

    def _string(self, expression: Expression) -> Scalar:
        raw = self._text(expression).strip('"') if expression.data == "identifier" else self._text(expression)[1:-1]
        text = ESCAPE.sub(lambda escape: ESCAPES[escape[0]], _with_references(raw))
        return Scalar(text=text, place=self._place(expression))

    def _heredoc(self, expression: Expression) -> Scalar:
        """Return the text as a passage of its own, in which each line has its number."""
        place = self._place(expression)
        whole = self._text(expression).rstrip()
        heredoc = HEREDOC.match(whole)
        content = whole[heredoc.end() :].removesuffix(heredoc["end"]).rstrip(" \t") if heredoc else ""
        if heredoc is None or DIRECTIVE.search(content):
            return Scalar(text="${ heredoc }", place=place)
        text = _with_references(content)
        breaks = tuple(line_end.end() for line_end in re.finditer("\n", text))
        passage = SourceText(text=text, source=place.source, breaks=breaks, first_line=place.line + 1)
        return _embedded_text(passage, place)

    def _reference(self, expression: Expression) -> Scalar:
        text = " ".join(re.sub(r"[{}]", " ", self._text(expression)).split())
        return Scalar(text=f"${{ {text} }}", place=self._place(expression))

    def _text(self, expression: Expression) -> str:
        return self.passage.text[expression.meta.start_pos : expression.meta.end_pos]

    def _place(self, expression: Expression) -> SourceSpan:
        return self.passage.place(0 if expression.meta.empty else expression.meta.start_pos)


def _joined(members: list[Member]) -> Member:
    """Merge members of one key: blocks of one type become a list; of other values, the last counts."""
    arrays = [member.value for member in members if isinstance(member.value, Array)]
    if len(arrays) < len(members):
        return members[-1]
    items = tuple(item for array in arrays for item in array.items)
    return replace(members[0], value=Array(items=items, place=arrays[0].place))


def _embedded_text(passage: SourceText, place: SourceSpan) -> Scalar:
    """Return a text that may be JSON, with the passage in which it stands."""
    written = Written(passage=passage, start=0, end=len(passage.text), notation=Notation.JSON)
    return Scalar(text=passage.text, place=place, written=written)


def _with_references(text: str) -> str:
    """Return a text whose references are placeholders, unlike `${hbase.tmp.dir}`, which `$${…}` stands for."""
    return REFERENCE.sub("${ ", text).replace("$${", "${").replace("%%{", "%{")


def _parts(expression: Expression) -> list[Expression]:
    """Return the parts of an expression without punctuation, line ends and comments."""
    return [part for part in expression.children if not isinstance(part, str) and part.data != "new_line_or_comment"]


def _name(part: Expression) -> str:
    return str(_parts(part)[0].children[0])


def _body_of(block: Expression) -> Expression:
    return next(part for part in _parts(block) if part.data == "body")


def _is_literal(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
