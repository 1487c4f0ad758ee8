"""Arguments and options that commands share."""

from __future__ import annotations

from typing import Final

import click

from environments.environment import Environment
from sizing.cluster import ClusterChoice
from sizing.problem import InvalidInput

environment_argument: Final = click.argument("environment", metavar="ENV")
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
    """Return the cluster of that name, or the active one; raise InvalidInput for a name that the file does not have."""
    if cluster_name is None:
        return environment.active
    if cluster_name not in environment.clusters:
        raise InvalidInput.of(
            where=environment.source,
            what="clusters",
            why=f"there is no cluster {cluster_name!r}",
            fix=f"one of: {', '.join(environment.clusters)}",
        )
    return environment.clusters[cluster_name]
