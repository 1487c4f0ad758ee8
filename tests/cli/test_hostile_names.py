"""A name that somebody else has chosen is carried whole into every format, or refused, and runs nowhere."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.command import PROJECT, run
from tests.hfile.printed import written
from tests.hostile import NAMES, UNSTOPPABLE
from warmbase.cli.page import Column, Page, Paragraph, Part, Table, styled
from warmbase.environments.reader import read_environment
from warmbase.ground.block import FAMILY_FORM
from warmbase.ground.markup import xml_comment, xml_text
from warmbase.reports.markdown import literal, table

DEV = (PROJECT / "environments" / "dev.yaml").read_text()
TEXTS = [name for name in NAMES if name != "\ud800"]
"""Without half of a surrogate pair, which no file in UTF-8 can have."""
FAMILIES = [name for name in TEXTS if re.fullmatch(FAMILY_FORM, name) and len(name) < 256]


def printed(text: str) -> str:
    """Return a text that commands no terminal."""
    assert text.replace("\n", "").replace("\t", "").isprintable()
    return text


def yaml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else json.dumps(text)


@pytest.mark.parametrize("text", TEXTS)
def test_an_override_reaches_every_format_whole_or_is_refused(text: str, tmp_path: Path) -> None:
    (file := tmp_path / "dev.yaml").write_text(f"{DEV}overrides: {{hbase-site: {{a.b: {yaml_text(text)}}}}}\n")
    answers = {
        form: run("render", str(file), "--format", form)
        for form in ("emr", "hbase-site", "run-job-flow", "client", "table-ddl", "initial-load")
    }
    codes = {answer.returncode for answer in answers.values()}
    for answer in answers.values():
        printed(answer.stdout + answer.stderr)
    if codes != {0}:
        assert codes <= {2, 3}
        assert all("a.b" in answer.stderr and "fix: " in answer.stderr for answer in answers.values())
        return
    assert f'"a.b": {json.dumps(text)}' in answers["emr"].stdout
    assert f'"a.b": {json.dumps(text)}' in answers["run-job-flow"].stdout
    site = ET.fromstring(answers["hbase-site"].stdout)  # noqa: S314 - rendered here
    assert {node.findtext("name"): node.findtext("value") for node in site}["a.b"] == text
    ET.fromstring(answers["client"].stdout)  # noqa: S314 - rendered here


PLACES: dict[str, Callable[[str], str]] = {
    "overrides": lambda text: f"{DEV}overrides: {{hbase-site: {{{yaml_text(text)}: x}}}}\n",
    "classification": lambda text: f"{DEV}overrides: {{{yaml_text(text)}: {{a: x}}}}\n",
    "tags": lambda text: f"{DEV}tags: {{owner: {yaml_text(text)}}}\n",
    "keys of tags": lambda text: f"{DEV}tags: {{{yaml_text(text)}: x}}\n",
    "mail": lambda text: f"{DEV}alarms: {{email: {yaml_text(text + '@example.com')}}}\n",
    "tables": lambda text: DEV.replace("workload:\n", f"workload:\n  tables: {{{yaml_text(text)}: {{}}}}\n"),
    "name": lambda text: DEV.replace("name: dev", f"name: {yaml_text(text)}"),
    "cluster": lambda text: DEV.replace("  blue:", f"  {yaml_text(text)}:"),
    "root": lambda text: f"{DEV}storage: {{root: {yaml_text(f's3://bucket/{text}/')}}}\n",
}
HARMLESS = {
    # What AWS takes in tags (IAM), in a mail address and in a key reaches a template as it is.
    "tags": r"[\w .:/=+@-]*",
    "keys of tags": r"[\w .:/=+@-]*",
    "mail": r"[\w.!#$%&'*+/=?^`|~-]+",
    "root": r"[\w=-][\w.=-]*",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_place_of_the_environment_file_takes_only_what_its_sinks_carry(place: str, tmp_path: Path) -> None:
    accepted = []
    for text in TEXTS:
        (file := tmp_path / "dev.yaml").write_text(PLACES[place](text))
        answers = [run("render", str(file)), run("plan", str(file), "--output", "markdown")]
        for answer in answers:
            printed(answer.stdout + answer.stderr)
            assert answer.returncode in {0, 2, 3}, answer.stderr
            assert answer.returncode == 0 or "fix: " in answer.stderr
        accepted += [text] if {answer.returncode for answer in answers} == {0} else []
    if place in HARMLESS:
        assert [text for text in accepted if not re.fullmatch(HARMLESS[place], text, re.ASCII)] == []
    elif place not in {"overrides", "classification"}:
        assert accepted == []


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment whose tables somebody else has created, with every family that HBase allows."""
    directory = tmp_path_factory.mktemp("inspected")
    for family in FAMILIES:
        place = directory / "hbase" / "data" / "default" / "users" / f"{1:032x}" / family
        place.mkdir(parents=True)
        shutil.copy(written()[0], place / f"{1:032x}")
    answer = run("inspect", str(directory / "hbase"), "--all", "--write", str(directory / "inspection.json"))
    assert answer.returncode == 0, answer.stderr
    printed(answer.stdout + answer.stderr)
    (file := directory / "dev.yaml").write_text(DEV.replace("stored: 200 GiB", "inspection: inspection.json"))
    return file


def test_an_inspection_holds_every_family(inspected: Path) -> None:
    document = json.loads(inspected.with_name("inspection.json").read_text())
    assert {family["family"] for family in document["families"]} == set(FAMILIES)
    answer = run("inspect", "hbase", "--output", "json", "--write", "again.json", directory=inspected.parent)
    assert set(FAMILIES) <= set(texts(json.loads(printed(answer.stdout))))


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a document of JSON."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(inner)


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "--why"),
        ("plan", "--output", "json"),
        ("plan", "--output", "markdown"),
        ("compare",),
        ("render", "--format", "table-ddl"),
        ("render", "--format", "initial-load"),
        ("lint",),
        ("lint", "--output", "json"),
        ("lint", "--output", "sarif"),
    ],
)
def test_no_family_commands_a_terminal_or_ends_a_document(command: tuple[str, ...], inspected: Path) -> None:
    answer = run(command[0], str(inspected), *command[1:])
    assert answer.returncode in {0, 3}, answer.stderr
    printed(answer.stdout + answer.stderr)
    assert "--output" not in command or command[-1] == "markdown" or json.loads(answer.stdout)


def test_a_page_of_html_has_the_scripts_of_warmbase_alone(inspected: Path) -> None:
    answer = run("plan", str(inspected), "--report", str(inspected.with_name("report.html")))
    assert answer.returncode == 0, answer.stderr
    page = inspected.with_name("report.html").read_text()
    kinds = re.findall(r"<script[^>]*>", page)
    assert kinds.count('<script type="module">') == 1
    assert {kind for kind in kinds if "application/json" not in kind} == {'<script type="module">'}
    assert page.count("</script>") == len(kinds)
    assert "<img src=x" not in page


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
@pytest.mark.parametrize("suffix", [".json", ".xml"])
def test_a_strangers_configuration_commands_nothing_in_a_report(form: str, suffix: str, tmp_path: Path) -> None:
    names = [text for text in TEXTS if suffix == ".json" or ("\0" not in text and "\x1b" not in text)]
    if suffix == ".json":
        text = json.dumps([{"Classification": "hbase-site", "Properties": {name: name for name in names}}])
    else:
        properties = (
            f"<property><name>{xml_text(name)}</name><value>{xml_text(name)}</value></property>" for name in names
        )
        text = f"<configuration><!-- {xml_comment(''.join(names))} -->{''.join(properties)}</configuration>"
    # The name of a file may have bytes that are no text.
    (file := tmp_path / f"\udcff\x1b[31m{suffix}").write_text(text)
    answer = run("lint", "--file", str(file), "--all", *(("--output", form) if form != "text" else ()))
    assert answer.returncode in {0, 2, 3}, answer.stderr
    printed(answer.stdout + answer.stderr)


def test_a_command_that_is_printed_takes_the_file_as_one_word(tmp_path: Path) -> None:
    for text in TEXTS:
        if text.isprintable() and "/" not in text and not text.startswith("-") and len(text) < 200:
            (file := tmp_path / f"{text}.yaml").write_text(DEV)
            answer = run("plan", file.name, directory=tmp_path, columns=200)
            [words] = re.findall(r"warmbase plan (.*?) --why", answer.stdout)
            assert shlex.split(words) == [file.name]
            assert shlex.split(read_environment(str(file)).argument) == [text]


def test_a_draft_has_the_properties_of_a_strangers_cluster(tmp_path: Path) -> None:
    """A value that looks like a placeholder, or like a file outside the node, is left out."""
    plain = [text for text in TEXTS if not re.search(r"<.*>|\{\{|\.\./|[\0-\x08\x0e-\x1f\x7f-\x9f]", text)]
    assert len(plain) > 20
    properties = {"hbase.rootdir": "s3://bucket/hbase/", **{f"key.{text}": text for text in plain}}
    storage = {"Classification": "hbase", "Properties": {"hbase.emr.storageMode": "s3"}}
    groups = [("MASTER", "m7g.xlarge", 1), ("CORE", "r7g.2xlarge", 4)]
    cluster = {
        "Name": "a\nname: b # {",
        "ReleaseLabel": "emr-7.14.0",
        "Applications": [{"Name": "HBase"}],
        "Configurations": [storage, {"Classification": "hbase-site", "Properties": properties}],
        "Instances": {
            "InstanceGroups": [
                {"InstanceRole": role, "InstanceType": kind, "InstanceCount": count} for role, kind, count in groups
            ]
        },
    }
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    size = ("--stored", "3TiB", "--reads", "2000", "--row", "2KiB", "--region", "eu-west-1")
    answer = run("new", "events", "--from", "cluster.json", *size, "--yes", directory=tmp_path)
    assert answer.returncode == 0, answer.stderr
    printed(answer.stdout + answer.stderr)
    [file] = tmp_path.rglob("events.yaml")
    overrides = {override.key: override.value for override in read_environment(str(file)).overrides}
    assert {f"key.{text}": text for text in plain}.items() <= overrides.items()


@pytest.mark.parametrize("text", [*NAMES, UNSTOPPABLE])
def test_every_part_of_a_page_is_text(text: str) -> None:
    columns = (Column(), Column(flexible=True), Column(whole=True))
    rows = [(text, text, styled(text))]
    parts: list[Part] = [text, styled(text), (text, text), Paragraph(text=text), Table(columns=columns, rows=rows)]
    for line in Page(cut=True).lines(parts):
        assert "\n" not in printed(line)


@pytest.mark.parametrize("text", [*NAMES, UNSTOPPABLE])
def test_a_name_is_literal_in_markdown(text: str) -> None:
    row = printed(table(("a", "b"), [(literal(text), "x")]).splitlines()[-1])
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3
    assert not re.search(r"(?<!\\)(?:\\\\)*[`<>*_\[\]#~]", row)
