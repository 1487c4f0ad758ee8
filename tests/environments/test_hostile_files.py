"""Files that an attacker or an accident leaves beside an environment: each is refused or passed over, none blocks."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.changes.test_legacy_plan import unpack
from tests.command import PROJECT, run
from tests.hfile.fuzzing import soon
from tests.patience import HANG_SECONDS
from tests.tiers import quick_where
from warmbase.environments.launch_record import launch_records
from warmbase.environments.reader import read_environment, shared_roots
from warmbase.ground.errors import InvalidInput

DEV = (PROJECT / "environments" / "dev.yaml").read_text(encoding="utf-8")
OVERRIDE = 'overrides: {hbase-site: {"hbase.rpc.timeout": "9%s"}}\n'
FORBIDDEN = ("\\0", "\\u0001", "\\e[2J", "\\x7f", "\\x9b31m", "\\ufffe", "\\uffff")
"""Characters as YAML escapes them: those that XML 1.0 forbids, and those with which a terminal command begins."""
ALLOWED = ("\\t", "\\n", "é", "€", "\\U0001F600")


def problems(path: Path) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        read_environment(str(path))
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("character", FORBIDDEN)
@pytest.mark.parametrize(
    "line",
    [
        OVERRIDE,
        'overrides: {hbase-site: {"hbase.rpc%s.timeout": "9"}}\n',
        'overrides: {"hbase-site%s": {hbase.rpc.timeout: "9"}}\n',
        'tags: {team: "data%s"}\n',
        'tags: {"team%s": data}\n',
    ],
)
def test_characters_that_xml_forbids_are_refused_with_their_line(tmp_path: Path, line: str, character: str) -> None:
    file = tmp_path / "dev.yaml"
    lines = [text for text in DEV.splitlines(keepends=True) if not text.startswith(line.partition(":")[0])]
    file.write_text("".join(lines) + line % character, encoding="utf-8")
    text = "\n".join(problems(file))
    assert f"{file}:{len(lines) + 1}  " in text
    assert "contains the control character U+" in text
    assert "fix: remove the character" in text
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("character", ALLOWED)
def test_other_characters_are_accepted(tmp_path: Path, character: str) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(DEV + OVERRIDE % character, encoding="utf-8")
    assert read_environment(str(file)).overrides


def pipe(path: Path) -> None:
    os.mkfifo(path)


def broken_link(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (pipe, "is a pipe, not a regular file"),
    "directory": (Path.mkdir, "is a directory, not a regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a device, not a regular file"),
    "broken link": (broken_link, "No such file or directory"),
}
KINDS = pytest.mark.parametrize(("make", "why"), SPECIAL.values(), ids=SPECIAL)


@KINDS
def test_what_is_beside_the_environment_is_passed_over(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    del why
    file = tmp_path / "dev.yaml"
    file.write_text(DEV, encoding="utf-8")
    make(tmp_path / "other.yaml")
    assert shared_roots(read_environment(str(file))) == []


def inspection(directory: Path, special: Path) -> tuple[str, ...]:
    file = directory / "dev.yaml"
    file.write_text(DEV.replace("stored:", f"inspection: {special}\n  #"), encoding="utf-8")
    return ("plan", str(file))


def curve(directory: Path, special: Path) -> tuple[str, ...]:
    file = directory / "dev.yaml"
    file.write_text(DEV.replace("workload:", f"workload:\n  popularity: {{curve: {special}}}"), encoding="utf-8")
    return ("plan", str(file))


def record(directory: Path, special: Path) -> tuple[str, ...]:
    file, home = directory / "dev.yaml", directory / "dev.launch" / "blue"
    file.write_text(DEV, encoding="utf-8")
    home.mkdir(parents=True)
    special.rename(home / "launch.json")
    return ("diff", str(file), "--against", "launch")


COMMANDS: dict[str, Callable[[Path, Path], tuple[str, ...]]] = {
    "environment": lambda _, special: ("plan", str(special)),
    "lint --file": lambda _, special: ("lint", "--file", str(special)),
    "inspection": inspection,
    "curve": curve,
    "launch record": record,
}


class Blocked(BaseException):
    """A command waits for a file."""


@contextmanager
def time_limit() -> Iterator[None]:
    """Raises Blocked when the block takes too long, even where it waits for somebody to write into a pipe."""

    def end(*_: object) -> None:
        raise Blocked

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(HANG_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("make", "why"), quick_where(lambda case: case[0] is pipe, SPECIAL.values()), ids=list(SPECIAL)
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_refuses_a_file_that_is_not_regular(
    tmp_path: Path, command: str, make: Callable[[Path], object], why: str
) -> None:
    special = tmp_path / "special.csv" if command == "curve" else tmp_path / "special.yaml"
    make(special)
    arguments = COMMANDS[command](tmp_path, special)
    with time_limit():
        answer = run(*arguments)
    assert answer.returncode == 2, answer.stderr
    assert "Traceback" not in answer.stderr
    assert why in answer.stderr
    assert "\n  fix: " in answer.stderr


def test_a_pipe_among_the_files_of_a_record_is_not_waited_for(tmp_path: Path) -> None:
    unpack(tmp_path)
    program = next(tmp_path.rglob("bootstrap/*.py"))
    program.unlink()
    pipe(program)
    with pytest.raises(InvalidInput, match="it differs from what was launched"):
        launch_records(read_environment(str(tmp_path / "dev.yaml")))


MIB = 2**20
SITE = '[{"Classification":"hbase-site","Properties":{"hbase.regionserver.handler.count":%s}}]'
CLUSTER = 'resource "aws_emr_cluster" "a" {\n%s\n}\n'
LOCALS = "\n".join(f"a{level} = [local.a{level + 1}, local.a{level + 1}]" for level in range(40))
CREATE = "aws emr create-cluster --applications Name=HBase "


class Hostile(NamedTuple):
    """A file that would take a reader minutes, or its stack, and what the command says about it."""

    command: str
    content: bytes | str
    answer: str


HOSTILE = {
    "a number": Hostile(
        "lint --file", SITE % ("9" * 10**6), ":1  hbase-site\n  'hbase.regionserver.handler.count': it has"
    ),
    "a number as text": Hostile("lint --file", SITE % f'"{"9" * 10**6}"', "it has 1,000,000 characters"),
    "a shorter number": Hostile("lint --file", SITE % f'"{"9" * 5000}"', "it has a number of 5,000 digits"),
    "a number of XML": Hostile(
        "lint --file",
        f"<configuration><property><name>a</name><value>{'9' * 5000}</value></property></configuration>",
        ":1  'a'\n  it has a number of 5,000 digits",
    ),
    "JSON in depth": Hostile("lint --file", "[" * 30_000 + "]" * 30_000, ":1  is not JSON at '[["),
    "JSON of one token": Hostile("lint --file", f"[{'1,' * MIB}1]", ":1  is not JSON at '1,1,"),
    "50 MB of JSON": Hostile("lint --file", f"[{' ' * 50 * 10**6}]", ":1  is too long"),
    "settings": Hostile(
        "lint --file",
        f"<configuration>{'<property><name>a</name><value>é</value></property>' * 70_000}</configuration>",
        ":1  is too long\n  it has over 10,000 settings",
    ),
    "YAML in depth": Hostile("lint --file", f"Configurations: {'[' * 30_000}", "it nests deeper than 50 levels"),
    "YAML of one token": Hostile(
        "lint --file", f"Configurations:\n{'- a' + chr(10)}" * 10**5, "it has over 200,000 entries"
    ),
    "Terraform in depth": Hostile(
        "lint --file", CLUSTER % f"x = {'[' * 30_000}{']' * 30_000}", ":1  cannot be read\n  it nests too deep"
    ),
    "locals that multiply": Hostile(
        "lint --file", f"locals {{\n{LOCALS}\na40 = 1\n}}\n{CLUSTER % 'x = local.a0'}", "it has over 200,000 values"
    ),
    "long Terraform": Hostile(
        "lint --file", CLUSTER % ("x = 1\n" * 10**5), ":1  is too long\n  the file is over 256 KiB"
    ),
    "a heredoc of blanks": Hostile("lint --file", CLUSTER % f"x = <<EOF\n{' ' * 250_000}\nEOF", ""),
    "a long script": Hostile("lint --file", CREATE * 80_000, ":1  is too long\n  the file is over 256 KiB"),
    "one command after another": Hostile(
        "lint --file", "emr create-cluster --x " * 180_000, ":1  is not a configuration"
    ),
    "an open quote": Hostile(
        "lint --file", f'{CREATE}--x "{"${a}" * 10_000}', ':1  is not a command\n  the quote " is never'
    ),
    "writers of nothing": Hostile(
        "lint --file", f"{'cat ' * 50_000}\n{CREATE}--configurations file://x", "x cannot be read"
    ),
    "here-documents without an end": Hostile(
        "lint --file", f"{'cat > x <<E ' * 20_000}\n{CREATE}--configurations file://x", "x cannot be read"
    ),
    "lists of the HBase shell": Hostile("lint --file", f"create 't', {'X => [1, ' * 100_000}", ""),
    "blanks of a description": Hostile("lint --file", f"'t', {{TABLE_ATTRIBUTES => {{{' ' * 10**6}", ""),
    "tables": Hostile(
        "lint --file",
        "\n".join(f"create 't{table}', 'f', coprocessor => 'a|b|1'" for table in range(20_000)),
        "the file has over 10,000 tables",
    ),
    "bytes": Hostile("lint --file", b"\xff" * 4 * MIB, ":1  is not text"),
    "an environment in depth": Hostile("environment", "[" * 30_000, "nests deeper than 30 levels"),
    "50 MB of an environment": Hostile(
        "environment", "a" * 50 * 10**6, "is not YAML\n  it is longer than 1,048,576 bytes"
    ),
    "a number of an environment": Hostile(
        "environment",
        DEV + 'overrides: {hbase-site: {hbase.regionserver.handler.count: "%s"}}\n' % ("9" * 10**6),
        "is not YAML\n  it has 1,000,000 characters",
    ),
    "a shorter number of an environment": Hostile(
        "environment",
        DEV + 'overrides: {hbase-site: {hbase.regionserver.handler.count: "%s"}}\n' % ("9" * 5000),
        "' is not a whole number from 1 to 2,147,483,647",
    ),
    "an inspection in depth": Hostile("inspection", "[" * 30_000, "  file\n  invalid json: recursion limit exceeded"),
    "a number of an inspection": Hostile(
        "inspection", f'{{"stored_bytes": {"9" * 10**6}}}', "number out of range at line 1 column"
    ),
    "more than a long": Hostile(
        "inspection", f'{{"stored_bytes": {2**63}}}', "input should be less than 9223372036854775808"
    ),
    "50 MB of an inspection": Hostile("inspection", " " * 50 * 10**6, "it is over 16 MiB"),
    "a curve": Hostile("curve", "rows,reads\n" + "0,0\n" * 10**6, "it is over 1 MiB"),
    "a number of a curve": Hostile("curve", f"rows,reads\n{'9' * 10**6},1\n", "field larger than field limit"),
    "a record in depth": Hostile("launch record", "[" * 30_000, "it cannot be read: ValueError('it nests too deep')"),
    "a number of a record": Hostile("launch record", f'{{"sha256": {"9" * 10**6}}}', "Exceeds the limit"),
    "50 MB of a record": Hostile("launch record", " " * 50 * 10**6, "it is over 16 MiB"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_file_takes_a_reader_its_stack_or_minutes(tmp_path: Path, name: str) -> None:
    """The limit ends what would hang; each case takes less than a second or so of an idle processor."""
    hostile = HOSTILE[name]
    special = tmp_path / ("special.csv" if hostile.command == "curve" else "special.yaml")
    content = hostile.content
    special.write_bytes(content if isinstance(content, bytes) else content.encode())
    arguments = COMMANDS[hostile.command](tmp_path, special)
    with soon():
        result = run(*arguments)
    assert "Traceback" not in result.stderr
    assert (result.returncode, "fix: " in result.stderr) == ((2, True) if hostile.answer else (0, False)), result.stderr
    assert hostile.answer in result.stderr
    assert len(result.stderr) < 6_000


def test_only_the_first_of_many_unknown_keys_are_compared_with_all_real_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def near_misses(key: str, _: object) -> tuple[str, ...]:
        compared.append(key)
        return ()

    monkeypatch.setattr("warmbase.linter.rules.keys.near_misses", near_misses)
    keys = [f"hostile.unknown.k{number}" for number in range(700)]
    file = tmp_path / "site.json"
    file.write_text(f'[{{"Classification":"hbase-site","Properties":{json.dumps(dict.fromkeys(keys, "1"))}}}]')
    answer = run("lint", "--file", str(file), "--output", "json")
    assert compared == keys[:500]
    assert sum(finding["id"] == "WB103" for finding in json.loads(answer.stdout)["findings"]) == len(keys)


SECRET = "s3cr3t"
CREDENTIALS = f"[default]\naws_secret_access_key = {SECRET}\n"
KEYS = f'{{"auths": {{"{SECRET}": {{"auth": "{SECRET}"}}}}}}'


PROPERTY = '"hbase.rpc.timeout" = file("{special}")'


def script(*options: str) -> Callable[[Path, Path], tuple[str, ...]]:
    return named("create.sh", f"aws emr create-cluster {' '.join(options)}")


def named(name: str, text: str) -> Callable[[Path, Path], tuple[str, ...]]:
    """Return what writes a file that names another one, and the command that reads it."""

    def write(directory: Path, special: Path) -> tuple[str, ...]:
        (directory / name).write_text(text.replace("{special}", str(special)), encoding="utf-8")
        return ("lint", "--file", str(directory / name))

    return write


def terraform(release: str, configurations: str) -> Callable[[Path, Path], tuple[str, ...]]:
    values = f"release_label = {release}\nconfigurations_json = {configurations}"
    return named("main.tf", CLUSTER % values)


def linked(directory: Path, special: Path) -> tuple[str, ...]:
    arguments = record(directory, special)
    (directory / "dev.launch" / "blue" / "launch.json").rename(special)
    (directory / "dev.launch" / "blue" / "launch.json").symlink_to(special)
    return arguments


CONFIGURATIONS = script("--configurations", "file://{special}")
REFERENCES: dict[str, tuple[Callable[[Path, Path], tuple[str, ...]], str | bytes, int]] = {
    "a curve": (curve, CREDENTIALS, 2),
    "a curve of numbers": (curve, "rows,reads\n0.5,0.1234\n0.4321,0.2\n", 2),
    "a curve with names": (curve, f"{SECRET},reads\n{SECRET},1\n", 2),
    "a curve of bytes": (curve, f"{SECRET}\N{LATIN SMALL LETTER E WITH ACUTE}".encode("latin-1"), 2),
    "an inspection": (inspection, CREDENTIALS, 2),
    "an inspection with names": (inspection, KEYS, 2),
    "an inspection of a root": (inspection, f'{{"root": ["{SECRET}"], "coprocessors": {{"{SECRET}": 1}}}}', 2),
    "a launch record": (linked, CREDENTIALS, 2),
    "a launch record with names": (linked, KEYS, 2),
    "classifications": (CONFIGURATIONS, CREDENTIALS, 2),
    "classifications of one word": (CONFIGURATIONS, f'"{SECRET}"', 2),
    "classifications without a comma": (CONFIGURATIONS, f'["{SECRET}" "{SECRET}"]', 2),
    "a classification without a colon": (CONFIGURATIONS, f'[{{"{SECRET}" 1}}]', 2),
    "a classification with names": (CONFIGURATIONS, f'[{{"{SECRET}": 1}}]', 2),
    "a property that is a list": (
        CONFIGURATIONS,
        f'[{{"Classification": "hbase-site", "Properties": {{"{SECRET}": []}}}}]',
        2,
    ),
    "a property with a forbidden character": (
        CONFIGURATIONS,
        f'[{{"Classification": "hbase-site", "Properties": {{"{SECRET}": "\\u0001"}}}}]',
        2,
    ),
    "roles": (script("--instance-groups", "file://{special}"), f'[{{"InstanceGroupType": "{SECRET}"}}]', 2),
    "counts": (
        script("--instance-groups", "file://{special}"),
        f'[{{"InstanceGroupType": "CORE", "InstanceCount": "{SECRET}"}}]',
        2,
    ),
    "applications": (script("--applications", "file://{special}"), CREDENTIALS, 2),
    "the input of the command": (script("--cli-input-json", "file://{special}"), CREDENTIALS, 2),
    "a release": (script("--release-label", "file://{special}"), CREDENTIALS, 0),
    "JSON of Terraform": (terraform('"emr-7.14.0"', 'file("{special}")'), f'[{{"{SECRET}" 1}}]', 2),
    "a release of Terraform": (terraform('file("{special}")', '"[]"'), CREDENTIALS, 0),
    "a property of Terraform": (
        terraform('"emr-7.14.0"', f'jsonencode([{{Classification = "hbase-site", Properties = {{{PROPERTY}}}}}])'),
        CREDENTIALS,
        0,
    ),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_no_answer_quotes_a_file_that_the_input_names(tmp_path: Path, name: str) -> None:
    """The author of a file chooses the files that it names, and its reader may post the answer."""
    command, content, code = REFERENCES[name]
    special = tmp_path / "special.csv"
    special.write_bytes(content if isinstance(content, bytes) else content.encode())
    answer = run(*command(tmp_path, special))
    assert answer.returncode == code, answer.stderr
    printed = answer.stdout + answer.stderr
    assert not [word for word in (SECRET, "aws_secret", "default", "0.1234", "auths") if word in printed], printed
    if code == 2:
        assert answer.stderr.startswith(("dev.launch", str(tmp_path)))
        assert "\n  fix: " in answer.stderr
