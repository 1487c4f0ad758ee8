"""The command line: which commands there are, and how an error ends.

Commands are imported when they are called, so that `warmbase --help` loads nothing but click.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Final, NoReturn

import click

from sizing.problem import WarmbaseError

__all__ = ["COMMANDS", "main", "warmbase"]

COMMANDS: Final[Mapping[str, str]] = {
    "plan": "Size a cluster: what to buy, what it will do, why, and what it costs.",
    "explain": "Say why one figure or property is what it is: formula, inputs, source.",
    "compare": "Set S3 with a cache, S3 without and HDFS side by side, in what they do and cost.",
    "inspect": "Look what an HBase root holds: blocks as the cache takes them, indexes, codecs.",
    "render": "Print the EMR classifications of a cluster, or files made of them.",
    "lint": "Say what is wrong with a configuration, and how to mend it.",
    "diff": "Say how each difference from what was launched or rendered is applied, and its cost.",
    "dashboard": "Draw a cluster's dashboards, of counters that were recorded from a real HBase.",
    "reference": "Print a page of reference: properties, rules, the published recipe, security, dashboards.",
    "published": "Print the calculator's figures beside published ones, as Markdown.",
    "prices": "Refresh the price files that plans are made with.",
    "deploy": "Deploy an environment: its stacks, its clusters, and what is tuned in those.",
    "reconfigure": "Give a running cluster what today's plan says: settings and number of nodes.",
    "status": "Show each cluster of an environment: nodes, caches, claim, drift, alarms and cost.",
    "verify": "Look whether a real cluster is what our documents say, and write a dated report.",
    "claim": "Show which cluster may write to the root, and whether it runs.",
    "teardown": "End one cluster without losing anything: flush, stop, look, terminate.",
    "destroy": "Remove the stacks of an environment that hold no data, once no cluster of it runs.",
    "pin": "Write the launch record of a running cluster, which keeps deployments from replacing it.",
    "lab": "Run what is rendered on a real HBase, on this machine.",
    "demo": "Deploy an environment to a local AWS on this machine, check it, and remove it.",
}
"""Every command with the first line of its help; a test holds the two against each other."""

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALLED: Final = 128
"""What a shell adds to the number of the signal that ended a command."""


class LazyGroup(click.Group):
    """Knows its commands by name and imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The commands in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now; None for a name that is none."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - a fault of ours
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Return the list of commands from the table above, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_name="warmbase", message="%(prog)s %(version)s")
def warmbase() -> None:
    """Size, configure and deploy cache-tuned HBase on Amazon EMR.

    ENV is the name of a file in environments/ (prod) or a path to one.

    \b
    Exit codes: 0 done; 1 it failed; 2 the input is wrong; 3 the answer is no.
    """


class Stopped(BaseException):
    """A signal that ends the command; on its way out what was begun is removed and what was started is ended."""

    def __init__(self, number: int) -> None:
        self.exit_code = SIGNALLED + number
        super().__init__(f"warmbase: ended by {signal.Signals(number).name}")


def main() -> None:
    """Runs a command; an error of ours is its message on stderr and its exit code."""
    for number in ENDING:
        # What nohup or a shell has made it ignore stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        _run()
    except (WarmbaseError, Stopped) as error:
        click.echo(str(error), err=True)
        sys.exit(error.exit_code)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    # Once is enough: a second signal would stop the cleaning up, which has bounds of its own.
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def _run() -> None:
    try:
        try:
            warmbase.main(prog_name="warmbase")
        finally:
            sys.stdout.flush()
    except OSError as error:
        # Python flushes once more as it ends; what could not be written must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            click.echo(f"warmbase: {error.filename or 'cannot write'}: {error.strerror or error}", err=True)
        sys.exit(1)
