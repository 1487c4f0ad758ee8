"""The command line, called in this process: a process of its own costs ten times as much as most answers."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from tests.patience import HANG_SECONDS
from warmbase.cli.main import main
from warmbase.cli.signals import ENDING

PROJECT = Path(__file__).parents[1]
PROCESS = (sys.executable, "-c", "from warmbase.cli.main import main; main()")
"""How tests start `warmbase` as a process: with the code of this checkout, whoever made .venv/bin/warmbase."""


def process_variables(columns: int = 80) -> dict[str, str]:
    """Return the environment variables of a command that is not to depend on those of the tests."""
    return {"PATH": "/usr/bin:/bin", "COLUMNS": str(columns), "NO_COLOR": "1", "PYTHONPATH": str(PROJECT)}


def run(
    *arguments: str,
    columns: int = 80,
    directory: Path = PROJECT,
    variables: Mapping[str, str] | None = None,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    """Return how `warmbase` with these arguments ended, and what it printed, without starting a process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        chdir(directory),
        signals_restored(),
        patch.dict(os.environ, process_variables(columns) | dict(variables or {}), clear=True),
        patch.object(sys, "argv", ["warmbase", *arguments]),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()))),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def run_process(*arguments: str, columns: int = 80) -> subprocess.CompletedProcess[str]:
    """Return how a process of `warmbase` with these arguments ended, and what it printed."""
    return subprocess.run(
        [*PROCESS, *arguments],
        cwd=PROJECT,
        env=process_variables(columns),
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


@contextmanager
def signals_restored() -> Iterator[Mapping[signal.Signals, object]]:
    """Restore the handlers of signals afterwards; the value has those of the signals that end a command."""
    handlers = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGALRM)}
    try:
        yield {number: handlers[number] for number in ENDING}
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
