"""`warmbase new`: options, questions on a terminal, and what an interrupted one leaves behind."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.test_commands import loaded_after
from tests.command import PROCESS, PROJECT, process_variables, run
from tests.patience import HANG_SECONDS
from warmbase.cli.size.new import PATHS, REQUIRED
from warmbase.environments import draft
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.document import path_text
from warmbase.ground.units import TIB
from warmbase.sizing.workload.popularity import Zipf

STATED = ("--stored", "3TiB", "--reads", "2000", "--row", "2KiB", "--region", "eu-west-1")


class Terminal:
    """`warmbase new` on a terminal of its own."""

    def __init__(self, *arguments: str, process: Sequence[str] = PROCESS) -> None:
        self.screen = ""
        self._main, side = pty.openpty()
        self._process = subprocess.Popen(
            [*process, "new", *arguments],
            cwd=PROJECT,
            env=process_variables() | {"TERM": "xterm"},
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
        )
        os.close(side)

    def await_text(self, text: str) -> None:
        """Read until the text is on the screen, and forget what is before it."""
        limit = time.monotonic() + HANG_SECONDS
        while text not in self.screen:
            assert time.monotonic() < limit, self.screen
            assert self._read(), f"{text!r} is not in {self.screen!r}"
        self.screen = self.screen.partition(text)[2]

    def answer(self, question: str, text: str) -> None:
        """Type an answer when the question is on the screen."""
        self.await_text(question)
        os.write(self._main, f"{text}\n".encode())

    def interrupt(self, question: str, number: signal.Signals | None) -> None:
        """Send a signal, or the end of the input, when the question is on the screen, until the process ends.

        Python handles a signal that comes just before it waits for input only when the next one comes.
        """
        self.await_text(question)
        for _ in range(10 * HANG_SECONDS):
            if self._process.poll() is not None:
                return
            if number is None:
                os.write(self._main, b"\x04")
            else:
                self._process.send_signal(number)
            time.sleep(0.1)

    def exit_code(self) -> int:
        """Read to the end, and return the exit code."""
        while self._read():
            pass
        os.close(self._main)
        return self._process.wait(HANG_SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._main], [], [], HANG_SECONDS)
        try:
            data = os.read(self._main, 4096) if ready else b""
        except OSError:  # Linux reports the end of a terminal in this way.
            data = b""
        self.screen += data.decode()
        return bool(data)


def test_options_alone_write_a_file_and_plan_it(tmp_path: Path) -> None:
    file = tmp_path / "events.yaml"
    result = run("new", str(file), *STATED, "--yes")
    assert (result.returncode, result.stderr) == (0, "")
    assert f"Wrote {file}." in result.stdout
    assert "a month" in result.stdout
    assert f"warmbase plan {file}" in result.stdout
    assert f"warmbase explore {file}" in result.stdout.splitlines()[-1]
    assert read_environment(str(file)).workload.stored_bytes == 3 * TIB


def test_five_answers_write_a_file(tmp_path: Path) -> None:
    file = tmp_path / "events.yaml"
    terminal = Terminal(str(file))
    terminal.answer("How much data is stored", "3 TB")
    terminal.await_text("3 TB is 2.728 TiB; did you mean that, or 3 TiB?")
    terminal.answer("How much data is stored", "3 TiB")
    terminal.answer("How many reads per second", "2,000")
    terminal.answer("How many bytes of a row", "2 KiB")
    terminal.answer("How are the reads spread", "strong")
    terminal.answer("Which AWS Region", "mars")
    terminal.await_text("there are no prices for 'mars'")
    terminal.answer("Which AWS Region", "eu-west-1")
    assert terminal.exit_code() == 0
    assert "a month" in terminal.screen
    workload = read_environment(str(file)).workload
    assert (workload.stored_bytes, workload.row_bytes, workload.popularity) == (3 * TIB, 2048, Zipf(theta=0.99))


def test_enter_leaves_the_skew_to_the_assumption(tmp_path: Path) -> None:
    file = tmp_path / "events.yaml"
    terminal = Terminal(str(file), *STATED[2:])
    terminal.answer("How much data is stored", "3 TiB")
    terminal.answer("How are the reads spread", "")
    assert terminal.exit_code() == 0
    assert "# assumed: a mild skew" in file.read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (None, 2)])
def test_an_interrupted_question_writes_nothing(number: signal.Signals | None, code: int, tmp_path: Path) -> None:
    terminal = Terminal(str(tmp_path / "events.yaml"))
    terminal.answer("How much data is stored", "3 TiB")
    terminal.interrupt("How many reads per second", number)
    assert terminal.exit_code() == code
    assert "Traceback" not in terminal.screen
    assert list(tmp_path.iterdir()) == []


SIGNALLED_AS_INPUT_FLUSHES = """
import os, signal, sys
from warmbase.cli.main import main
from click import termui

class Signalling:
    def __getattr__(self, name):
        return getattr(sys.__stderr__, name)
    def flush(self):
        caller = sys._getframe().f_back
        if caller is not None and caller.f_code is termui._readline_prompt.__code__:
            os.kill(os.getpid(), signal.SIGINT)

sys.stderr = Signalling()
main()
"""


def test_a_question_can_be_interrupted_again_where_input_dropped_the_first_signal(tmp_path: Path) -> None:
    terminal = Terminal(str(tmp_path / "events.yaml"), process=[sys.executable, "-c", SIGNALLED_AS_INPUT_FLUSHES])
    terminal.interrupt("How much data is stored", signal.SIGINT)
    assert (terminal.exit_code(), "Traceback" in terminal.screen) == (130, False), terminal.screen


INTERRUPTED_BY_INPUT = """
from warmbase.cli.main import main
from click import termui

def interrupted(_text):
    raise KeyboardInterrupt

termui.visible_prompt_func = interrupted
main()
"""


def test_an_interrupt_that_input_reports_by_itself_ends_the_question(tmp_path: Path) -> None:
    terminal = Terminal(str(tmp_path / "events.yaml"), process=[sys.executable, "-c", INTERRUPTED_BY_INPUT])
    assert (terminal.exit_code(), "Traceback" in terminal.screen) == (130, False), terminal.screen
    assert "ended by SIGINT" in terminal.screen


SIGNALLED_AS_SIGNALS_ARE_IGNORED = """
import os, signal
from warmbase.cli import signals
from warmbase.cli.main import main

ignored = []
set_handler = signal.signal

def signalled(number, handler):
    if handler is signal.SIG_IGN and len(ignored) < 2:
        ignored.append(number)
        os.kill(os.getpid(), signal.SIGINT)
    return set_handler(number, handler)

signals.signal.signal = signalled
main()
"""


def test_more_signals_while_a_question_ends_change_nothing(tmp_path: Path) -> None:
    process = [sys.executable, "-c", SIGNALLED_AS_SIGNALS_ARE_IGNORED]
    terminal = Terminal(str(tmp_path / "events.yaml"), process=process)
    terminal.interrupt("How much data is stored", signal.SIGINT)
    assert (terminal.exit_code(), "Traceback" in terminal.screen) == (130, False), terminal.screen


def test_yes_asks_nothing_on_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal(str(tmp_path / "events.yaml"), "--yes", "--reads", "2000")
    assert terminal.exit_code() == 2
    assert "--stored, --row, --region" in terminal.screen


@pytest.mark.parametrize("yes", [(), ("--yes",)])
def test_without_a_terminal_the_missing_options_are_named(yes: tuple[str, ...], tmp_path: Path) -> None:
    result = run("new", str(tmp_path / "events.yaml"), "--reads", "2000", *yes)
    assert result.returncode == 2
    assert "--stored, --row, --region\n" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "events.yaml"
    file.write_text("mine", encoding="utf-8")
    result = run("new", str(file), *STATED)
    assert (result.returncode, file.read_text(encoding="utf-8")) == (2, "mine")
    assert "exists already" in result.stderr


def test_a_name_that_is_taken_leads_to_its_plan() -> None:
    result = run("new", "prod", *STATED)
    assert result.returncode == 2
    assert "environments/prod.yaml  exists already" in result.stderr
    assert "run `warmbase plan prod`, or choose another name" in result.stderr


def test_a_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    result = run("new", str(tmp_path / "nowhere/events.yaml"), *STATED)
    assert result.returncode == 2
    assert "there is no directory" in result.stderr


def test_targets_that_no_cluster_meets_still_write_the_file(tmp_path: Path) -> None:
    file = tmp_path / "events.yaml"
    result = run("new", str(file), *STATED, "--budget", "10")
    assert result.returncode == 3
    assert "no cluster meets the targets" in result.stderr
    assert file.exists()


def test_every_option_names_a_key(tmp_path: Path) -> None:
    values = {
        "popularity": "uniform", "release": "emr-7.12.0", "mode": "s3-plain", "zone": "eu-west-1b", "peak": "3000",
        "writes": "1MiB", "cell": "1KiB", "block_size": "16KiB", "regions": "50", "hit_ratio": "0.5", "p99": "9 s",
        "lost_nodes": "0", "budget": "100000", "primaries": "3",
    }  # fmt: skip
    assert {*values, *REQUIRED} == set(PATHS)
    assert tuple(path_text(PATHS[option]) for option in REQUIRED) == draft.REQUIRED
    options = [part for option, value in values.items() for part in (f"--{option.replace('_', '-')}", value)]
    file = tmp_path / "events.yaml"
    result = run("new", str(file), *STATED, *options)
    assert result.returncode == 0, result.stderr
    read = read_environment(str(file))
    assert (read.release, read.mode.name, read.network.availability_zone) == ("emr-7.12.0", "s3-plain", "eu-west-1b")
    assert (read.workload.block_bytes, read.workload.cell_bytes, read.workload.regions) == (16384, 1024, 50)
    assert (read.targets.hit_ratio, read.targets.p99_seconds, read.targets.lost_nodes) == (0.5, 9.0, 0)
    assert read.active.primaries == 3


def test_a_new_environment_needs_neither_aws_nor_the_cdk(tmp_path: Path) -> None:
    arguments = ["new", str(tmp_path / "events.yaml"), *STATED]
    loaded = loaded_after(
        f"from warmbase.cli.commands import warmbase; warmbase.main({arguments!r}, standalone_mode=False)"
    )
    assert not loaded & {"boto3", "botocore", "aws_cdk", "moto", "cfnlint", "altair", "jinja2"}
