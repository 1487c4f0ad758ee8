"""From a file to a ClusterSpec. The content of a file, not its name, decides which form it has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from warmbase.emr.cloudformation import CLUSTER_TYPE
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.facts.releases import SPARK_ONLY, is_label, nearest_label, unknown_release
from warmbase.ground.errors import InvalidInput
from warmbase.linter.reader.cluster import CLUSTER_KEYS, cluster_subject
from warmbase.linter.reader.command_line import command_object, command_offsets
from warmbase.linter.reader.hadoop_xml import hadoop_subject
from warmbase.linter.reader.hbase_shell import has_tables, shell_subject, table_coprocessors
from warmbase.linter.reader.node import Array, Member, Node, Object, Scalar, json_node, with_capitals, yaml_node
from warmbase.linter.reader.source_text import SourceText, load_source, quoted, refusal
from warmbase.linter.reader.terraform import file_object, is_terraform, plan_object

XML: Final = re.compile(r"\s*<(?:[?!]|configuration\b|property\b)")
JSON: Final = re.compile(r"\s*[\[{]")
YAML_KEYS: Final = "|".join(sorted(CLUSTER_KEYS | {"Classification", "Properties", "Resources"}))
YAML: Final = re.compile(rf"^(?:---)?[ \t-]*[\"']?(?:{YAML_KEYS})[\"']?[ \t]*:", re.MULTILINE)
ENVIRONMENT: Final = re.compile(r"^(?:workload|clusters|storage|region|targets)[ \t]*:", re.MULTILINE)
# judgement: a script that creates a cluster, or its file of Terraform, is some ten kilobytes.
MOST_WRITTEN: Final = 256 * 2**10
FORMS: Final = (
    "pass a list of classifications, the JSON of RunJobFlow, a script with `aws emr create-cluster`, "
    "an hbase-site.xml, or an HBase shell script with tables"
)


def read_subject(path: Path, release: str | None) -> ClusterSpec:
    """Return the cluster that a file describes; `release` wins over a release in the file.

    Raises InvalidInput with every problem of the file, each with its line, and for a `release` that is not a label.
    """
    if release is not None and not is_label(release):
        if SPARK_ONLY.fullmatch(release):
            why, fix = unknown_release(release)
            what = f"{quoted(release)} {why}"
            raise refusal("--release", what=what, why="lint is about HBase", fix=fix)
        why = "an EMR release label is emr- and three numbers with dots between them"
        what, fix = f"{quoted(release)} is not a release label", f"write {nearest_label(release)}"
        raise refusal("--release", what=what, why=why, fix=fix)
    passage = load_source(path)
    try:
        return _subject(passage, path, release)
    except RecursionError:
        why = "it nests too deep"
        raise refusal(passage.place(0), what="cannot be read", why=why, fix="pass only the configurations") from None


def _subject(passage: SourceText, path: Path, release: str | None) -> ClusterSpec:
    text = passage.text
    if XML.match(text):
        return hadoop_subject(passage, path.name, release)
    if command_offsets(text) and not _is_json(passage):
        _refuse_long(passage)
        subject = cluster_subject(command_object(passage, path.parent), release, fills_in=True)
        return replace(subject, coprocessors=table_coprocessors(passage)) if has_tables(text) else subject
    if JSON.match(text):
        return _node_subject(json_node(passage), release)
    if is_terraform(text):
        _refuse_long(passage)
        return cluster_subject(file_object(passage, path.parent), release, fills_in=True)
    if YAML.search(text):
        return _node_subject(yaml_node(passage), release)
    if has_tables(text):
        return shell_subject(passage, release)
    if len(ENVIRONMENT.findall(text)) > 1:
        name = path.stem if path.absolute().parent.name == "environments" else path
        why = "it is an environment of warmbase"
        fix = f"you mean `warmbase lint {name}`; to compare it with another one: `warmbase plan ENV {name}`"
        raise refusal(passage.place(0), what="is not a configuration of EMR", why=why, fix=fix)
    why = "the file is not JSON, YAML or XML with EMR settings, and has no `aws emr create-cluster` with options"
    raise refusal(passage.place(0), what="is not a configuration", why=why, fix=FORMS)


def with_tables(subject: ClusterSpec, paths: Sequence[Path]) -> ClusterSpec:
    """Return a cluster with the coprocessors that files state of its tables, besides those that it has.

    Raises InvalidInput for a file that is not an HBase shell script.
    """
    more = (replace(one, line=None) for path in paths for one in table_coprocessors(load_source(path)))
    return replace(subject, coprocessors=(*subject.coprocessors, *more))


def _refuse_long(passage: SourceText) -> None:
    """Raise InvalidInput for a text that nobody writes by hand; to parse it would take minutes."""
    if len(passage.text) > MOST_WRITTEN:
        why = f"the file is over {MOST_WRITTEN // 2**10} KiB, and no person writes so long a script or template"
        raise refusal(passage.place(0), what="is too long", why=why, fix="pass only the cluster")


def _is_json(passage: SourceText) -> bool:
    """Return whether a text is JSON; a script could begin with a bracket too."""
    if not JSON.match(passage.text):
        return False
    try:
        json_node(passage)
    except InvalidInput:
        return False
    return True


def _node_subject(node: Node, release: str | None) -> ClusterSpec:
    if isinstance(node, Object):
        if node.get("Classification") or node.get("classification"):
            node = Array(items=(node,), place=node.place)
        else:
            cluster = plan_object(node) or _cluster_object(node)
            return cluster_subject(cluster, release, fills_in=cluster is not node)
    if isinstance(node, Scalar):
        why = "the file holds a single value"
        raise refusal(node.place, what="is not a configuration", why=why, fix=FORMS)
    member = Member(key="Configurations", value=with_capitals(node), place=node.place)
    return cluster_subject(Object(members=(member,), place=node.place), release)


def _cluster_object(node: Object) -> Object:
    """Return the object itself, or the properties of the one cluster in a CloudFormation template."""
    resources = _within(node, "Resources")
    if resources:
        clusters = [value for member in resources.members if _is_cluster(value := member.value)]
        if len(clusters) != 1 or not isinstance(clusters[0], Object):
            why = f"the template has {len(clusters)} resources of type {CLUSTER_TYPE}"
            raise refusal(resources.place, what="Resources", why=why, fix="pass the Properties of a single cluster")
        node = clusters[0]
    properties = _within(node, "Properties")
    if properties and _is_cluster(node):
        return properties
    if not node.keys() & CLUSTER_KEYS:
        why = f"the object has none of the keys {', '.join(sorted(CLUSTER_KEYS))}"
        raise refusal(node.place, what="is not a configuration", why=why, fix=FORMS)
    return node


def _within(node: Object, key: str) -> Object | None:
    member = node.get(key)
    return member.value if member and isinstance(member.value, Object) else None


def _is_cluster(node: Node) -> bool:
    kind = node.get("Type") if isinstance(node, Object) else None
    return bool(kind and isinstance(kind.value, Scalar) and kind.value.text == CLUSTER_TYPE)
