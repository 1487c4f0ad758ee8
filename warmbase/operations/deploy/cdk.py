"""The CDK command line: a process whose lines can be followed, and the assembly that it writes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from warmbase.environments.reader import locate
from warmbase.ground.errors import OperationFailed
from warmbase.ground.files import EXAMPLES, PACKAGE, is_checkout
from warmbase.operations.aws.clients import Aws

APP: Final = f"{shlex.quote(sys.executable)} -P -m warmbase.app"
"""The CDK app of the package; -P keeps the current directory from shadowing modules."""
LAST_LINES: Final = 25
# judgement: it needs well under a second to end; this is for a loaded machine.
STOP_SECONDS: Final = 10.0


def selection(name: str) -> str:
    """Return the environment for the CDK command line: its name where the package has it, or the path of its file."""
    file = locate(name).resolve()
    return f"environment={name if file == (EXAMPLES / f'{name}.yaml').resolve() else file}"


def cdk_command() -> Path | None:
    """Return the CDK command line: that of the checkout, or else the first on the PATH; None where there is none."""
    own = PACKAGE.parent / "node_modules" / ".bin" / "cdk"
    program = own if own.exists() else shutil.which("cdk")
    return Path(program) if program else None


def cdk_version() -> str:
    """Return the version of the CDK command line that reads what the library of this release writes."""
    document = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    return str(document["dependencies"]["aws-cdk"])


def cdk_installation() -> str:
    """Return how to get that command line."""
    return "run `make setup-deploy`" if is_checkout() else f"npm install --global aws-cdk@{cdk_version()}"


def run_cdk(
    arguments: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], None] = lambda _: None
) -> None:
    """Runs `cdk ARGUMENTS` on the app of the package; on_line gets each line of its output.

    It runs in the directory of the package, where no cdk.json of another app adds to ours. Raises OperationFailed with
    the last lines when it is missing or ends badly.
    """
    program = cdk_command()
    if program is None:
        raise OperationFailed.of(
            where="cdk",
            what="is not on the PATH",
            why="it is the CDK command line, a package of npm",
            fix=cdk_installation(),
        )
    last: deque[str] = deque(maxlen=LAST_LINES)
    app = () if "--app" in arguments else ("--app", APP)
    command = [str(program), *arguments, *app, "--no-notices", "--no-color"]
    # The programs of this virtual environment come first, and with them Node where a package has it.
    path = os.pathsep.join((str(Path(sys.executable).parent), variables.get("PATH", os.defpath)))
    with subprocess.Popen(
        command,
        cwd=PACKAGE,
        env={**variables, "PATH": path, "CDK_DISABLE_CLI_TELEMETRY": "true", "NODE_NO_WARNINGS": "1"},
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
            # End the process and its children: the app would otherwise go on writing its templates.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(STOP_SECONDS)
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise OperationFailed.of(
            where=f"cdk {' '.join(arguments)}",
            what=f"ended with {process.returncode}",
            why="\n".join(last),
            fix="fix the cause that the lines above name, then run the same command again",
        )


class Assembly(Struct, frozen=True, kw_only=True):
    """The templates and files of an environment as synthesised in a directory, and the account where they go.

    `name` is the environment as the user named it; the CDK command line receives the variables.
    """

    name: str
    directory: Path
    aws: Aws
    variables: Mapping[str, str]

    def synthesise(self, say: Callable[[str], None]) -> None:
        """Write the templates and files."""
        output = str(self.directory)
        run_cdk(("synth", "-c", selection(self.name), "--quiet", "--output", output), self.variables, say)

    def template(self, stack: str) -> Mapping[str, Any]:
        """Return the template of one of its stacks."""
        text = (self.directory / f"{stack}.template.json").read_text(encoding="utf-8")
        template: Mapping[str, Any] = json.loads(text)
        return template
