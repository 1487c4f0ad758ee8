"""The commands by the task that each serves, and how an error ends one.

Commands are imported when they are called, so that `warmbase --help` loads nothing but click.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

import click

from warmbase.cli.packages import missing_package
from warmbase.cli.signals import ignore_signals, stoppable, stopped_by
from warmbase.cli.terminal import echo, is_json, name_cluster, print_error, print_json_error, print_notes
from warmbase.ground.errors import WarmbaseError
from warmbase.ground.files import is_checkout

GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "Size": {
        "new": "Write an environment file from five answers.",
        "plan": "Show what to buy, what it does and what it costs.",
        "explore": "Change the inputs of a plan in a browser.",
        "explain": "Explain one figure or property: formula, inputs, source.",
        "compare": "Compare the storage modes for one environment.",
        "inspect": "Analyse the store files of an HBase root.",
        "prices": "Update the price files from the AWS price list.",
    },
    "Check": {
        "lint": "Check a configuration, yours or anybody's, for mistakes.",
        "diff": "Show how each change is applied, and what it costs.",
        "render": "Print EMR classifications, DDL or client settings.",
    },
    "Deploy": {
        "deploy": "Deploy an environment: stacks, clusters, tuning.",
        "reconfigure": "Apply today's plan to a running cluster.",
        "canary": "Try a small cluster on a real account for an hour.",
        "pin": "Record a running cluster, so that it is not replaced.",
    },
    "Operate": {
        "status": "Show nodes, caches, drift, alarms and cost.",
        "warm": "Show the fill of the caches, wait for it, or boost it.",
        "restart": "Restart the RegionServers and keep their caches.",
        "heal": "Bring regions and their cached or local blocks together.",
        "release-regions": "Show when the rows of a lost node are online again.",
        "compact": "Run a major compaction in waves that spare the caches.",
        "tables": "Align tables with the plan, one region first.",
        "claim": "Show which cluster may write to the HBase root.",
        "unlock": "Remove the lock that a killed command left behind.",
        "teardown": "Shut down one cluster without losing data.",
        "destroy": "Delete the stacks that hold no data.",
    },
    "Prove": {
        "demo": "Deploy to an emulated AWS here, and remove it.",
        "lab": "Run the rendered configuration on a real HBase here.",
        "verify": "Check a running cluster against our documentation.",
    },
}
"""Every command with the first line of its help, by the task it serves; a test compares that line with the command."""

COMMANDS: Final[Mapping[str, str]] = {name: line for group in GROUPS.values() for name, line in group.items()}
OF_CHECKOUT: Final[Mapping[str, str]] = {"demo": "lab.commands", "lab": "lab.commands"}
"""The commands that only a checkout has, each with the package that holds its module."""

GROUP_COLUMNS: Final = 9
COMMAND_COLUMNS: Final = 16
EXIT_CODES: Final = "Exit codes: 0 done; 1 failed; 2 invalid input; 3 the answer is no."

JSON: Final = "warmbase.cli.commands.json"


def commands() -> tuple[str, ...]:
    """Return the names of the commands that this installation has, in the order of the help."""
    return tuple(name for name in COMMANDS if name not in OF_CHECKOUT or is_checkout())


def function_name(command: str) -> str:
    """Return the name of a command's function, which is also that of its module."""
    return command.replace("-", "_")


def command_module(command: str) -> str:
    """Return the module of a command: the modules of a group stand in the folder of its name."""
    group = next(title for title, lines in GROUPS.items() if command in lines)
    return f"{OF_CHECKOUT.get(command, f'warmbase.cli.{group.lower()}')}.{function_name(command)}"


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports the one that is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Notes whether the command line asks for JSON, which an error must then be, too."""
        ctx.meta[JSON] = is_json(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. With `--output json`, its error is a JSON document on stdout."""
        try:
            try:
                return super().invoke(ctx)
            except ModuleNotFoundError as error:
                if missing := missing_package(f"warmbase {ctx.invoked_subcommand}", error.name):
                    raise missing from None
                raise
        except (WarmbaseError, click.UsageError) as error:
            if isinstance(error, WarmbaseError):
                name_cluster(ctx, error)
            if ctx.meta[JSON]:
                print_json_error(ctx, error)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. Raises UsageError, with the nearest name, where there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            for name in get_close_matches(args[0], commands(), n=1):
                raise click.UsageError(f"{error.message} Did you mean {name!r}?", ctx) from None
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands, in the order of the help."""
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return the command; None for a name that no command has."""
        if cmd_name not in commands():
            return None
        try:
            module = importlib.import_module(command_module(cmd_name))
        except ModuleNotFoundError as error:
            if missing := missing_package(f"warmbase {cmd_name}", error.name):
                raise missing from None
            raise
        command = getattr(module, function_name(cmd_name))
        assert isinstance(command, click.Command)  # noqa: S101 - a fault of ours
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table above, group by group, without importing a command."""
        formatter.write_paragraph()
        known = commands()
        for title, lines in GROUPS.items():
            heading = title
            for name, line in lines.items():
                if name not in known:
                    continue
                formatter.write(f"{heading:<{GROUP_COLUMNS}}{name:<{COMMAND_COLUMNS}}{line.removesuffix('.')}\n")
                heading = ""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the exit codes that all commands share."""
        formatter.write_paragraph()
        formatter.write_text(EXIT_CODES)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_name="warmbase", message="%(prog)s %(version)s")
def warmbase() -> None:
    """Size, configure, deploy and operate HBase on EMR with a warm disk cache.

    ENV is an environment: the name of a file in environments/ (prod), or a path
    to one. `warmbase COMMAND --help` explains a command, with an example.
    """
    click.get_current_context().with_resource(stoppable())


def run() -> int:
    """Run the command of the command line, and return the exit code. A WarmbaseError is printed on stderr."""
    try:
        _run()
    except WarmbaseError as error:
        return print_error(error)
    except SystemExit:
        raise
    except BaseException as error:
        stopped = stopped_by()
        if stopped is None:
            raise
        ignore_signals()
        echo(str(stopped), err=True)
        print_notes(error)
        return stopped.exit_code
    return 0


def _run() -> None:
    try:
        try:
            warmbase.main(prog_name="warmbase")
        finally:
            sys.stdout.flush()
            gc.freeze()  # Python would look through all objects once more as it ends
    except OSError as error:
        # Python flushes once more as it ends; what could not be written must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            echo(f"warmbase: {error.filename or 'cannot write'}: {error.strerror or error}", err=True)
        sys.exit(1)
