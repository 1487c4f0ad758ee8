"""Arguments and options that commands share."""

from __future__ import annotations

from typing import Final

import click

from cli.signals import interruptible
from cli.terminal import echo
from environments.environment import Environment
from sizing.cluster import ClusterChoice
from sizing.engines.trino.request import TrinoChoice
from sizing.problem import InvalidInput

ANSWER_IS_NO: Final = 3


def complete_environment(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """Return the names of environments that begin with these letters, for completion in a shell."""
    from environments.reader.read import environment_names  # noqa: PLC0415 - only a completion needs it

    return [name for name in environment_names() if name.startswith(start)]


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


def chosen_cluster(environment: Environment, cluster_name: str | None) -> ClusterChoice:
    """Return HBase's cluster of that name, or the active one.

    Raises InvalidInput for a name that the file does not have, and for that of an analytics cluster.
    """
    if cluster_name is None:
        return environment.active
    if cluster_name in environment.analytics:
        raise InvalidInput.of(
            where=environment.source,
            what=f"clusters.{cluster_name}",
            why="this is a Trino cluster, and the command is for HBase clusters",
            fix="for a Trino cluster, use warmbase plan (also with --set, --frontier, --tornado or --months), explore,"
            " compare, diff, explain, render, lint, reconfigure, verify or teardown",
        )
    if cluster_name not in environment.clusters:
        raise InvalidInput.of(
            where=environment.source,
            what="clusters",
            why=f"there is no cluster {cluster_name!r}",
            fix=f"one of: {', '.join((*environment.clusters, *environment.analytics))}",
        )
    return environment.clusters[cluster_name]


def check_cluster(environment: Environment, cluster_name: str) -> None:
    """Raise InvalidInput for a name that no cluster of the file has, of whatever engine."""
    if cluster_name not in environment.analytics:
        chosen_cluster(environment, cluster_name)


def chosen_name(environment: Environment, cluster_name: str | None) -> str:
    """Return the name of a cluster of whatever engine, or that of the active one. Raises as `check_cluster`."""
    if cluster_name is None:
        return environment.active.name
    check_cluster(environment, cluster_name)
    return cluster_name


def chosen_analytics(environment: Environment, cluster_name: str | None) -> TrinoChoice | None:
    """Return the analytics cluster of that name, None if it is no name of one."""
    return environment.analytics.get(cluster_name or "")


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
