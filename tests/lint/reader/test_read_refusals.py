"""A file that cannot be read is refused with the line of each problem, never with a traceback."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from warmbase.ground.errors import InvalidInput
from warmbase.linter.reader import read_subject

Problems = Callable[..., str]

COMMAND = "aws emr create-cluster \\\n "
LAUGHS = "[&a0 x" + "".join(f", &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 21)) + "]"

FILES = [
    (b"", "try.txt:1  is empty"),
    (b" \n\t\n", "try.txt:1  is empty"),
    (b"one\ntwo \xff", "try.txt:2  is not text"),
    ("[]".encode("utf-16"), "is not text"),
    (b"[\0]", "zero bytes"),
    (b" " * (4 * 2**20 + 1), "is over 4 MiB"),
    ("# aws emr create-cluster --name x", "is not a configuration"),
    ("Use aws emr create-cluster to launch.", "is not a configuration"),
    ("hello", "is not a configuration"),
    ("3", "is not a configuration"),
    ('{"a": 1}', "none of the keys"),
    ("---\nConfigurations: [", "is not YAML"),
    ("Configurations:\n\t- x", "try.txt:2  is not YAML"),
    ("Configurations: [x]\n---\na: b", "is not YAML"),
    ("Properties: &a {b: *a}", "multiply"),
    (f"Configurations: {LAUGHS}", "multiply"),
    ("Configurations:\n  <<: {}", "merges"),
    ("Configurations:\n  ? [a]\n  : b", "a key must be a word"),
    ('{"Resources": {}}', "0 resources"),
]
JSON = [
    ("[\n{", "try.txt:2  is not JSON: it ends too early"),
    ("[1,]", "expected a value"),
    ('{"a": 1,}', "expected a key"),
    ("[\n\u201ca\u201d]", "try.txt:2  is not JSON at '\u201ca\u201d]'\n  JSON does not accept typographic quotes"),
    ('[] "more"', "the JSON value ends before this"),
    ('["a\nb"]', "Invalid control character"),
    (r'["\ud800"]', "surrogate"),
    ("[yes]", "expected a value"),
    ('["a" "b"]', "expected a comma or ]"),
    ('{"a" "b"}', "expected a colon"),
    ("[" * 100_000, "nests deeper"),
    ("# x\nConfigurations: " + "[" * 100_000, "nests deeper"),
]
STRUCTURE = [
    ('[{"Properties": {}}]', "an entry has no Classification"),
    ('[{"Classification": ["a"]}]', "an entry has no Classification"),
    ('["a"]', "a classification must be an object"),
    ('[{"Classification": "a",\n"Properties": []}]', "try.txt:2  a\n  Properties is not an object"),
    ('[{"Classification": "a", "Propertys": {}}]', "did you mean Properties?"),
    ('[{"Classification": "a", "hbase.rootdir": "x"}]', "move it into Properties"),
    ('[{"Classification": "a", "Properties": {"k": ["v"]}}]', "the value of 'k' is a list"),
    ('[{"Classification": "a", "Configurations": {}}]', "Configurations is not a list"),
    ('{"Configurations": "a"}', "Configurations is not a list"),
    ('{"Instances": []}', "Instances\n  the value is not an object"),
    ('{"Instances": {"InstanceGroups": {}}}', "InstanceGroups\n  the value is not a list"),
    ('{"Instances": {"InstanceGroups": ["CORE"]}}', "InstanceGroups[0]\n  the value is not an object"),
    ('{"Instances": {"InstanceGroups": [{}]}}', "the group has no role"),
    ('{"Instances": {"InstanceGroups": [{"InstanceRole": "WORKER"}]}}', "'WORKER' is not a role"),
    ('{"Instances": {"CoreInstanceGroup": {\n"InstanceCount": "abc"}}}', "try.txt:2  InstanceCount\n  'abc' is not"),
    ('{"Instances": {"CoreInstanceGroup": {"InstanceCount": 1.5}}}', "'1.5' is not a whole number"),
    ('{"Instances": {"CoreInstanceGroup": {"InstanceCount": -1}}}', "'-1' is not a whole number"),
    ('{"Instances": {"CoreInstanceGroup": {"InstanceType": []}}}', "the value is a list or an object"),
    (
        '[{"Classification": "hbase-site", "Properties": {\n"a.b": "\\u001b[2J"}}]',
        "try.txt:2  hbase-site\n  'a.b' contains the",
    ),
    (
        '{"Instances": {"CoreInstanceGroup": {"EbsConfiguration": {"EbsBlockDeviceConfigs": [{}]}}}}',
        "have no VolumeSpecification",
    ),
    ('{"ReleaseLabel": "a",\n"ReleaseLabel": "b"}', "try.txt:2  ReleaseLabel\n  the key is already in line 1"),
    ('{"Applications": [{}]}', "an application has no Name"),
]
COMMANDS = [
    (f"{COMMAND}--name 'x", "try.txt:2  is not a command\n  the quote ' is never closed"),
    (f'{COMMAND}--name "x', 'the quote " is never closed'),
    (f"{COMMAND}--name x \\ \n --release-label y", "try.txt:2  is not a line continuation"),
    (f"{COMMAND}--name x\n --release-label y", "try.txt:3  is not part of the command"),
    (f"{COMMAND}--name x \\\n# no\n --release-label y", "try.txt:4  is not part of the command"),
    (f"{COMMAND}\u00a0--name x", "U+00A0 looks like a blank"),
    (f"{COMMAND}--name x\n{COMMAND}--name y", "try.txt:3  is a second cluster"),
    (f"{COMMAND}--configurations", "the option has no value"),
    (f"{COMMAND}--configurations '[\n' --name x", "try.txt:2  is not JSON: it ends too early"),
    (f"{COMMAND}--configurations '[\n}}]'", "try.txt:3  is not JSON at '}]'"),
    (f"{COMMAND}--configurations '[]' '[]'", "the shell ends the JSON before '[]'"),
    (f"{COMMAND}--configurations https://x/y.json", "download it"),
    (f"{COMMAND}--configurations s3://x/y.json", "download it"),
    (f"{COMMAND}--configurations file://none.json", "try.txt:2  none.json cannot be read"),
    (f"{COMMAND}--configurations file://try.txt", "try.txt:1  is not JSON"),
    (f'{COMMAND}--configurations "$(cat x.json)"', "which lint cannot expand"),
    (f"{COMMAND}--configurations abc", "is not AWS CLI shorthand at 'abc'"),
    (f"{COMMAND}--applications Name=[a", "is AWS CLI shorthand that ends too early"),
    (f"{COMMAND}--applications Name=" + "[" * 1_000, "nests deeper"),
    (f"{COMMAND}--applications Name=a}}", "expected a comma"),
    (f"{COMMAND}--applications Name=a --applications Name=b", "the option is already in line 2"),
    (f"{COMMAND}--cli-input-json '[]'", "the JSON is not an object"),
]
XML = [
    ("<configuration>\n<property>", "try.txt:2  is not XML"),
    ("<configuration/>\n<x/>", "junk after document element"),
    ("<property/>", "its outermost element is 'property'"),
    ("<!DOCTYPE x [<!ENTITY y 'z'>]><configuration/>", "document type"),
    ("<configuration>&x;</configuration>", "undefined entity"),
    (
        "<configuration>\n<property><name>a</name></property></configuration>",
        "try.txt:2  a\n  Hadoop silently skips this property, because it has no <value>",
    ),
    ("<configuration><property><value>a</value></property></configuration>", "because it has no <name>"),
    ("<configuration><xi:include href='x'/></configuration>", "includes another file"),
]


@pytest.mark.parametrize(("content", "message"), [*FILES, *JSON, *STRUCTURE, *COMMANDS, *XML])
def test_a_file_that_cannot_be_read_is_refused(problems: Problems, content: str | bytes, message: str) -> None:
    text = problems(content)
    assert message in text
    assert text.startswith("try.txt:")
    assert "\n  fix: " in text


def test_a_fault_in_a_named_file_has_the_line_there(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "ours.json").write_text('[\n{"Properties": {}}]')
    assert problems(f"{COMMAND}--configurations file://ours.json").startswith("ours.json:2  Configurations")


@pytest.mark.parametrize("text", ["[default]\nkey = s3cr3t", '{"s3cr3t" "x"}', '["s3cr3t" x'])
def test_a_file_that_a_script_names_is_not_quoted(problems: Problems, text: str, tmp_path: Path) -> None:
    """The author of a script chooses the file, and its reader may post the answer."""
    (tmp_path / "theirs").write_text(text)
    found = problems(f"{COMMAND}--configurations file://{tmp_path}/theirs")
    assert "is not JSON" in found
    assert not {"s3cr3t", "default"} & set(re.findall(r"\w+", found))


def test_all_problems_are_reported_in_the_order_of_lines(problems: Problems) -> None:
    text = problems(
        f"{COMMAND}--instance-groups InstanceGroupType=X \\\n"
        "--configurations '[{},\n{}]' \\\n--applications '[{}]'"
    )
    assert [line for line in text.splitlines() if line.startswith("try.txt")] == [
        "try.txt:2  InstanceGroupType",
        "try.txt:3  Configurations",
        "try.txt:4  Configurations",
        "try.txt:5  Applications",
    ]
    text = problems(f"{COMMAND}--instance-groups InstanceGroupType \\\n--configurations '['")
    assert "try.txt:2  is not AWS CLI shorthand" in text
    assert "try.txt:3  is not JSON" in text


@pytest.mark.parametrize("path", [Path(), Path("none.json"), Path("a\0b"), Path("/dev/zero")])
def test_what_is_no_file_is_refused(path: Path) -> None:
    with pytest.raises(InvalidInput):
        read_subject(path, None)


TOKENS = [
    *("aws emr create-cluster --name x", "--configurations ", "--instance-groups ", "\\\n", "\n", "'", '"', "`", "$("),
    *("[", "]", "{", "}", ",", ":", "=", "<", ">", "\\", " ", "\t", "#", "&", "*", "- ", "| ", "!Ref ", ")", "${"),
    *('"Classification"', "Classification: ", '"Properties"', '"Configurations"', '"Instances"', '"InstanceGroups"'),
    *("<configuration>", "</configuration>", "<property>", "<name>", "</name>", "<value>", "<?xml", "<!--", "a", "1"),
]
WORDS = st.sampled_from(TOKENS)
TEXTS = st.text() | st.lists(WORDS, max_size=30).map("".join)
STARTS = st.sampled_from(["", "[", '{"Configurations": [', "Configurations:\n", COMMAND, "<configuration>"])
MEMBERS = [
    *("Classification", "Properties", "Configurations", "Instances", "InstanceGroups", "InstanceRole", "Ref"),
    *("CoreInstanceGroup", "EbsConfiguration", "EbsBlockDeviceConfigs", "VolumeSpecification", "SizeInGB"),
    *("Applications", "Name", "ReleaseLabel", "Type", "Resources", "InstanceCount", "Ec2KeyName"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
    max_leaves=20,
)


def tried(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "try.txt")
        file.write_bytes(content)
        with suppress(InvalidInput):
            read_subject(file, "emr-7.12.0")


@given(start=STARTS, text=TEXTS)
@example(start="Configurations:\n", text="\x07")
@example(start="<configuration>", text="\x00")
@example(start=COMMAND, text="-")
def test_any_text_is_read_or_refused(start: str, text: str) -> None:
    tried((start + text).encode())


@given(content=st.binary())
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    tried(content)


@given(value=VALUES)
def test_any_structure_is_read_or_refused(value: object) -> None:
    tried(json.dumps(value).encode())


NO_LABELS = [("7.12.0", "emr-7.12.0"), ("emr-7.12", "emr-7.12.0"), ("EMR-7.6.0", "emr-7.6.0"), ("newest", "emr-7.14.0")]


@pytest.mark.parametrize(("release", "label"), NO_LABELS)
def test_a_release_that_is_no_label_is_refused(problems: Problems, release: str, label: str) -> None:
    text = problems('[{"Classification": "hbase-site"}]', release=release)
    assert text.startswith(f"--release  {release!r} is not a release label")
    assert "emr- and three numbers" in text
    assert f"write {label}" in text


def test_a_runtime_for_spark_alone_is_refused_for_its_own_reason(problems: Problems) -> None:
    text = problems('[{"Classification": "hbase-site"}]', release="emr-spark-8.1.0")
    assert text.startswith("--release  'emr-spark-8.1.0' is a runtime for Apache Spark only: it ships no HBase")
    assert "emr-7.14.0" in text
