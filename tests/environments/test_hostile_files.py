"""Files that an attacker or an accident leaves beside an environment: each is refused or passed over, none blocks."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command import PROJECT, run
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
    shutil.unpack_archive(PROJECT / "tests" / "changes" / "launch-record-0.1.tar.gz", tmp_path, filter="data")
    program = next(tmp_path.rglob("bootstrap/*.py"))
    program.unlink()
    pipe(program)
    with pytest.raises(InvalidInput, match="it differs from what was launched"):
        launch_records(read_environment(str(tmp_path / "dev.yaml")))
