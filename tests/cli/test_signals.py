"""A signal ends a command at any moment: with 128 and its number, or by itself, and never with a traceback."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.command import PROJECT, process_variables, signals_restored
from tests.patience import HANG_SECONDS
from warmbase.cli.signals import ENDING, Stopped, stoppable, stopped_by

SIGNALLED_BY_ITSELF = """
import os, signal, sys
number, moment, *sys.argv[1:] = map(str, sys.argv[1:])
left = int(moment)

def on_event(event, arguments):
    global left
    if event == "import":
        left -= 1
        if not left:
            os.kill(os.getpid(), int(number))

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(on_event)
from warmbase.cli.main import main
main()
"""
MOMENTS = (10, 150, 300, 450)
"""Imports of `plan dev`, which has some 500: it arrives as the library, numpy, the command and the plan are loaded."""


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_during_any_import_ends_the_command_without_a_traceback(moment: int, number: signal.Signals) -> None:
    result = subprocess.run(
        [sys.executable, "-c", SIGNALLED_BY_ITSELF, str(int(number)), str(moment), "plan", "dev"],
        cwd=PROJECT,
        env=process_variables(),
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert result.returncode in {-number, 128 + number}, result.stderr
    assert result.stderr in {"", f"warmbase: ended by {number.name}\n"}


def signal_in_a_destructor() -> None:
    class Ending:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    Ending()
    wait()


def signal_that_becomes_another_error() -> None:
    with suppress(BaseException):
        os.kill(os.getpid(), signal.SIGTERM)
        wait()
    raise RuntimeError


DESCRIPTOR = """
import os, signal

class Descriptor:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGTERM)

class Owner:
    name = Descriptor()
"""


def signal_in_an_import() -> None:
    with tempfile.TemporaryDirectory() as directory, patch.object(sys, "path", [directory, *sys.path]):
        (Path(directory) / "signalled_module.py").write_text(DESCRIPTOR, encoding="utf-8")
        assert importlib.import_module("signalled_module").Owner
        del sys.modules["signalled_module"]


def wait() -> None:
    """Wait for a signal that raises Stopped a moment later."""
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        time.sleep(0.001)
    raise AssertionError("the signal is lost")


@pytest.mark.parametrize("scene", [signal_in_a_destructor, signal_that_becomes_another_error, signal_in_an_import])
def test_a_signal_that_python_would_lose_ends_the_command(
    scene: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    hook = sys.unraisablehook
    with signals_restored():
        with suppress(Stopped, RuntimeError), stoppable():
            scene()
        assert {signal.getsignal(number) for number in ENDING} == {signal.SIG_IGN}
    stopped = stopped_by()
    assert stopped
    assert stopped.exit_code == 128 + signal.SIGTERM
    assert (capfd.readouterr().err, sys.unraisablehook) == ("", hook)


def test_signals_are_as_before_when_the_command_has_ended() -> None:
    with signals_restored() as before:
        with stoppable():
            assert {signal.getsignal(number) for number in ENDING}.isdisjoint(before.values())
        assert {number: signal.getsignal(number) for number in ENDING} == before
