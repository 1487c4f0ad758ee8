"""The CDK command line, as a process whose lines can be followed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from environments.reader import locate
from sizing.problem import OperationFailed

PROJECT: Final = Path(__file__).parents[1]
COMMAND: Final = PROJECT / "node_modules" / ".bin" / "cdk"
LAST_LINES: Final = 25
# judgement: it needs well under a second to end; this is for a loaded machine.
STOP_SECONDS: Final = 10.0


def selection(name: str) -> str:
    """The environment for the CDK command line, which runs in the project: names stay names, paths become whole."""
    file = locate(name)
    return f"environment={name if file == PROJECT.resolve() / 'environments' / f'{name}.yaml' else file.resolve()}"


def run_cdk(
    arguments: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], None] = lambda _: None
) -> None:
    """Runs `cdk ARGUMENTS` in the project with these environment variables; each line of output goes to on_line.

    Raises OperationFailed with the last lines when it is missing or ends badly.
    """
    if not COMMAND.exists():
        raise OperationFailed.of(
            where=str(COMMAND.relative_to(PROJECT)),
            what="does not exist",
            why="the CDK command line is not installed",
            fix="run `make setup-deploy`",
        )
    last: deque[str] = deque(maxlen=LAST_LINES)
    command = [str(COMMAND), *arguments, "--no-notices", "--no-color"]
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env=_variables(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    ) as process:
        try:
            for line in process.stdout or ():
                last.append(line.rstrip())
                on_line(line.rstrip())
        except BaseException:
            _stop(process)
            raise
    if process.returncode:
        raise OperationFailed.of(
            where=f"cdk {' '.join(arguments)}",
            what=f"ended with {process.returncode}",
            why="\n".join(last),
            fix="fix the cause that the lines above name, then run the same command again",
        )


def _stop(process: subprocess.Popen[str]) -> None:
    """Ends it with what it started: the app that it runs would go on writing its templates."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)


def _variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with the virtual environment's programs first, and with Node where a package has it."""
    programs = PROJECT / ".venv" / "bin"
    path = os.pathsep.join((str(programs), variables.get("PATH", os.defpath)))
    return {**variables, "PATH": path, "CDK_DISABLE_CLI_TELEMETRY": "true", "NODE_NO_WARNINGS": "1"}
