"""Coprocessors of tables, read from HBase shell scripts and from the output of `describe`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lint.reader.conftest import Problems, Read
from warmbase.linter.lint import lint
from warmbase.linter.reader.hbase_shell import table_coprocessors
from warmbase.linter.reader.source_text import SourceText

INDEX = "hdfs:///index.jar|org.example.Index|1001|a=b"
ALTER = f"alter 't', METHOD => 'table_att', 'coprocessor' => '{INDEX}'"

# A file, and the table, class and line of each coprocessor that its tables have at its end.
FIRST = ("t", "org.example.Index", 1)
WRAPPED = """Table t is ENABLED
't', {TABLE_ATTRIBUTES => {coprocessor$1 => '|org.exam
ple.Index|1|', coproces
sor$2 => '|org.B|'}}
COLUMN FAMILIES DESCRIPTION
{NAME => 'f', METADATA => {'coprocessor$1' => '|org.No|'}}
"""
FILES = [
    (f"create 't', 'f', METADATA => {{'coprocessor$1' => '{INDEX}'}}", [FIRST]),
    (f"create 't', {{NAME => 'f'}},\n  METADATA => {{\n 'coprocessor$1' =>\n '{INDEX}'}}\n", [(*FIRST[:2], 3)]),
    (f"create 'ns:t', 'f'\nalter 'ns:t', 'coprocessor' => '{INDEX}'", [("ns:t", "org.example.Index", 2)]),
    (ALTER, [FIRST]),
    (f"\nalter_async('t', 'Coprocessor' => \"{INDEX}\")", [(*FIRST[:2], 2)]),
    ("alter 't', 'coprocessor$7' => '|org.A|'", [("t", "org.A", 1)]),
    ("alter 't', 'coprocessor' => {'CLASSNAME' => 'org.A', 'JAR_PATH' => 'a.jar'}", [("t", "org.A", 1)]),
    (f"{ALTER}\nalter 't', 'coprocessor' => '|org.Two|'", [FIRST, ("t", "org.Two", 2)]),
    (f"{ALTER} # {ALTER}\n# alter 'n', 'coprocessor' => '|org.No|'\nputs 'a'; alter 'u', 'coprocessor' => '|org.A|'",
     [FIRST, ("u", "org.A", 3)]),
    (f"{ALTER}\nalter 't', METHOD => 'table_att_unset', NAME => 'coprocessor$1'", []),
    (f"{ALTER}\nalter 't', METHOD => 'table_att_unset', NAME => ['a', 'coprocessor$1']", []),
    (f"{ALTER}\nalter 't', METHOD => 'table_remove_coprocessor', CLASSNAME => 'org.example.Index'", []),
    (f"{ALTER}\nalter 't', METHOD => 'table_remove_coprocessor', CLASSNAME => 'org.Other'", [FIRST]),
    (f"{ALTER}\ndisable 't'\ndrop 't'\ncreate 't', 'f'", []),
    ("create 't', 'f', CONFIGURATION => {'hbase.coprocessor.classes' => 'org.A'}", []),
    (f"#!/bin/bash\n# it's a script\nhbase shell -n <<'END'\n{ALTER}\nexit\nEND\n", [(*FIRST[:2], 4)]),
    ("echo \"alter 't', 'coprocessor\\$1' => '|org.A|'\" | hbase shell\necho \"done\"", [("t", "org.A", 1)]),
    ("t, {TABLE_ATTRIBUTES => {coprocessor$1 => '|org.A|', coprocessor$2 => '|org.B|'}}",
     [("t", "org.A", 1), ("t", "org.B", 1)]),
    (WRAPPED, [(*FIRST[:2], 2), ("t", "org.B", 3)]),
    (f"{ALTER}\nt, {{TABLE_ATTRIBUTES => {{METADATA => {{'a' => 'b'}}}}}}", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "coprocessors"), FILES)
def test_a_file_states_the_coprocessors_that_its_tables_have_at_its_end(
    text: str, coprocessors: list[tuple[str, str, int]], read: Read
) -> None:
    stated = read(text).coprocessors
    assert [(one.table, one.class_name, one.line) for one in stated] == coprocessors
    assert all(one.where == f"try.txt:{one.line}" for one in stated)


def test_a_launch_script_may_also_create_tables(read: Read) -> None:
    launch = "aws emr create-cluster --release-label emr-7.12.0 --applications Name=HBase Name=Phoenix\n"
    subject = read(launch + ALTER)
    assert subject.applications == ("HBase", "Phoenix")
    assert [one.line for one in subject.coprocessors] == [2]


@pytest.mark.parametrize("text", ["list\nscan 't'", f"# {ALTER}", "create database x", "recreate 't'"])
def test_a_file_without_a_statement_about_a_table_is_refused(text: str, problems: Problems) -> None:
    assert "or an HBase shell script with tables" in problems(text)


def test_the_tables_of_a_script_have_only_findings_about_tables(read: Read) -> None:
    """A script states nothing about the configuration, so no rule reports anything missing in it."""
    phoenix = "alter 'p', 'coprocessor' => '|org.apache.phoenix.coprocessor.ScanRegionObserver|805306366|'"
    findings = lint(read(f"{ALTER}\n{phoenix}", release="emr-7.14.0")).findings
    assert [(one.id, one.property, one.line) for one in findings if one.classification] == [
        ("WB906", "t", 1),
        ("WB907", "p", 2),
    ]
    assert {one.id for one in findings if not one.classification} <= {"WB107", "WB109"}


PIECES = st.sampled_from(
    [ALTER, "create 't'", "t, {TABLE_ATTRIBUTES => {", "'", '"', "{", "}", "[", "=>", ",", "\\", "\n", "#", " "]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_text_stops_the_reader(text: str) -> None:
    """Every text is read, or would be refused for having no statement; each coprocessor has a line of the text."""
    script = SourceText(text=text, source="x", breaks=tuple(at + 1 for at, char in enumerate(text) if char == "\n"))
    if ALTER in text.partition("#")[0]:
        stated = table_coprocessors(script)
        assert all(1 <= (one.line or 0) <= text.count("\n") + 1 for one in stated)


@pytest.mark.parametrize(
    "piece", ["create 'a',\n", "a, {TABLE_ATTRIBUTES =>\n", "create 'a', {", "# create 'a'", " ", "'a\\", "a.b:"]
)
@pytest.mark.thorough
def test_a_long_file_is_read_in_time(piece: str) -> None:
    text = piece * (300_000 // len(piece)) + f"\n\n}}\n{ALTER}"
    script = SourceText(text=text, source="x", breaks=())
    table_coprocessors(script)
