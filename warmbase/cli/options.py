"""Arguments and options that several commands have, and the types of option values with a unit."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import click

from warmbase.cli.signals import interruptible
from warmbase.cli.terminal import echo
from warmbase.environments.environment import Environment
from warmbase.environments.planning import chosen_cluster
from warmbase.ground.errors import InvalidInput
from warmbase.ground.units import parse_duration, parse_fraction

ANSWER_IS_NO: Final = 3


def complete_environment(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """Return the names of environments that begin with these letters, for completion in a shell."""
    from warmbase.environments.reader.read import environment_files  # noqa: PLC0415 - only a completion needs it

    return [name for name in environment_files() if name.startswith(start)]


environment_argument: Final = click.argument("environment", metavar="ENV", shell_complete=complete_environment)
cluster_option: Final = click.option(
    "--cluster", metavar="NAME", help="The cluster to use.  [default: the active cluster]"
)
output_option: Final = click.option(
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Print a table for people or JSON for programs.",
)
yes_option: Final = click.option("--yes", is_flag=True, help="Proceed without asking for confirmation.")
dry_run_option: Final = click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")


def chosen_name(environment: Environment, cluster_name: str | None) -> str:
    """Return the name of the named cluster, whatever its engine, or by default that of the active one.

    Raises InvalidInput for a name that no cluster of the file has.
    """
    if cluster_name is not None and cluster_name in environment.analytics:
        return cluster_name
    return chosen_cluster(environment, cluster_name).name


def confirm(question: str) -> None:
    """Ask, and return if the answer is yes. If it is no, the command ends with exit code 3.

    Raises InvalidInput where the input ends before an answer, as in a job without a terminal.
    """
    context = click.get_current_context()
    try:
        with interruptible():
            is_confirmed = click.confirm(question, err=True)
    except click.Abort:
        raise InvalidInput.of(
            where=context.command_path,
            what="needs a confirmation",
            why="standard input has ended, so nobody can answer; nothing was changed",
            fix="run it on a terminal, or with --yes",
        ) from None
    if not is_confirmed:
        echo("warmbase: you did not confirm, so nothing was changed", err=True)
        context.exit(ANSWER_IS_NO)


class UnitText(click.ParamType[float]):
    """A command-line value with a unit, such as `4 GiB`."""

    def __init__(self, name: str, parse: Callable[[str], float], least: float = 0, most: float = inf) -> None:
        self.name = name
        self._parse = parse
        self._least = least
        self._most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; a default that is a number stays."""
        if isinstance(value, int | float):
            return value
        try:
            amount = float(self._parse(str(value)))
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)
        if amount < self._least:
            self.fail(f"{value!r} is too small", param, ctx)
        if amount > self._most:
            self.fail(f"{value!r} is too large", param, ctx)
        return amount


def _share(text: str) -> float:
    """Return the share, which may also be a number without a unit, as in an environment file."""
    try:
        return parse_fraction(float(text))
    except ValueError:
        return parse_fraction(text)


def _growth(text: str) -> float:
    """Return a growth per month, which may end in `a month`, as in an environment file."""
    if ".." in text:
        raise ValueError(f"state a range of the growth in the file or with --set, such as {GROWTH_EXAMPLE}")
    return _share(text.strip().removesuffix("a month").strip())


GROWTH_EXAMPLE: Final = '"workload.growth=0..10 % a month"'
DURATION: Final = UnitText("time", parse_duration)
SHARE: Final = UnitText("share", _share)
GROWTH: Final = UnitText("growth", _growth)
