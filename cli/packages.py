"""The packages that a small installation lacks, and how the command that needs them installs them."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NoReturn

import click
from msgspec import Struct

from cli.terminal import echo
from sizing.problem import InvalidInput, OperationFailed

PROJECT: Final = Path(__file__).parents[1]
SETUP: Final = PROJECT / "setup.sh"
STDERR: Final = 2
"""Progress is printed here, because stdout is for the command's answer."""


class PackageSet(Struct, frozen=True, kw_only=True):
    """A set of packages that `setup.sh` installs by name. The first of its modules shows whether it is installed."""

    name: str
    modules: Sequence[str]
    title: str
    megabytes: int
    commands: frozenset[str]


SETS: Final = (
    PackageSet(
        name="aws",
        modules=("boto3", "botocore"),
        title="boto3",
        megabytes=36,
        commands=frozenset(
            {
                "claim",
                "compact",
                "destroy",
                "heal",
                "pin",
                "prices",
                "reconfigure",
                "release-regions",
                "restart",
                "status",
                "tables",
                "teardown",
                "unlock",
                "verify",
                "warm",
            }
        ),
    ),
    PackageSet(
        name="deploy",
        modules=("aws_cdk", "constructs"),
        title="AWS CDK with its command line, and boto3",
        megabytes=704,
        commands=frozenset({"canary", "deploy"}),
    ),
    PackageSet(
        name="demo",
        modules=("moto", "cfnlint"),
        title="AWS CDK with its command line, moto and cfn-lint",
        megabytes=942,
        commands=frozenset({"demo"}),
    ),
    PackageSet(
        name="pictures",
        modules=("altair", "vl_convert"),
        title="altair and vl-convert",
        megabytes=104,
        commands=frozenset({"dashboard"}),
    ),
    # `lab setup` brings the Java runtime, so the graphs show whether the rest is there.
    PackageSet(
        name="lab",
        modules=("altair",),
        title="graphs, and a Java runtime",
        megabytes=242,
        commands=frozenset({"lab"}),
    ),
)
"""The sets with what each adds to the smallest installation, where no Node is on the PATH."""


class UninstalledCommand(click.Command):
    """A command whose packages are not installed. Its help has no options; running it installs the packages."""

    def __init__(self, name: str, needed: PackageSet) -> None:
        self._needed = needed
        super().__init__(
            name,
            help=_help(name),
            epilog=f"To see the options, first install {needed.title}: make setup-{needed.name}",
            context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        )

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Install the packages, and start the command again."""
        install(self._needed, ctx.command_path)


def module_of(command: str) -> str:
    """Return the name of the module of a command, which is also the name of its function."""
    return command.replace("-", "_")


def missing_set(command: str) -> PackageSet | None:
    """Return the set that a command always needs, where it is not installed."""
    for packages in SETS:
        if command in packages.commands and find_spec(packages.modules[0]) is None:
            return packages
    return None


def set_of_module(module: str | None) -> PackageSet | None:
    """Return the set that brings a module; None for a module of no set."""
    package = (module or "").partition(".")[0]
    return next((packages for packages in SETS if package in packages.modules), None)


def install(needed: PackageSet, command: str) -> NoReturn:
    """Install a set with `setup.sh`, and start this process again with the same arguments.

    Raises InvalidInput where this Python is not that of a checkout, or where the packages cannot be downloaded.
    """
    make = f"make setup-{needed.name}"
    if not SETUP.exists() or Path(sys.prefix).resolve() != (PROJECT / ".venv").resolve():
        where = PROJECT if SETUP.exists() else "a clone of warmbase"
        raise InvalidInput.of(
            where=command,
            what=f"needs packages that are not installed: {needed.title}",
            why="",
            fix=f"run `{make}` in {where}, and use its .venv/bin/warmbase",
        )
    echo(f"{command} needs {needed.title}: installing up to {needed.megabytes} MB, once", err=True)
    process = subprocess.run([SETUP, needed.name], stdin=subprocess.DEVNULL, stdout=STDERR, check=False)
    if process.returncode:
        raise InvalidInput.of(
            where=command,
            what=f"needs packages that could not be installed: {needed.title}",
            why="the lines above have the reason",
            fix=make,
        )
    importlib.invalidate_caches()
    if find_spec(needed.modules[0]) is None:
        raise OperationFailed.of(
            where=str(SETUP), what=f"ended without installing {needed.modules[0]}", why="", fix="make clean setup-dev"
        )
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the very process that runs


def _help(name: str) -> str:
    """Return the docstring of a command, whose module cannot be imported."""
    function_name = module_of(name)
    module = ast.parse(Path(__file__).with_name(f"{function_name}.py").read_text(encoding="utf-8"))
    functions = (node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == function_name)
    return inspect.cleandoc(next(ast.get_docstring(function) or "" for function in functions))
