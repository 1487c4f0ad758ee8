"""Arguments and options that commands share."""

from __future__ import annotations

from typing import Final

import click

from environments.environment import Environment
from sizing.cluster import ClusterChoice
from sizing.problem import InvalidInput, Problem

__all__ = ["chosen_cluster", "cluster_option", "dry_run_option", "environment_argument", "output_option", "yes_option"]

environment_argument: Final = click.argument("environment", metavar="ENV")
cluster_option: Final = click.option("--cluster", metavar="NAME", help="Which cluster; the active one if not said.")
output_option: Final = click.option(
    "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="For people or programs."
)
yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask.")
dry_run_option: Final = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")


def chosen_cluster(environment: Environment, cluster_name: str | None) -> ClusterChoice:
    """The cluster of that name, or the active one. Raises InvalidInput for a name that the file does not have."""
    if cluster_name is None:
        return environment.active
    if cluster_name not in environment.clusters:
        raise InvalidInput(
            [
                Problem(
                    where=environment.source,
                    what="clusters",
                    why=f"there is no cluster {cluster_name!r}",
                    fix=f"one of: {', '.join(environment.clusters)}",
                )
            ]
        )
    return environment.clusters[cluster_name]
