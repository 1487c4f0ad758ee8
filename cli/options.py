"""Arguments and options that commands share."""

from __future__ import annotations

from typing import Final

import click

from environments.environment import Environment
from sizing.cluster import ClusterChoice
from sizing.problem import InvalidInput, Problem

__all__ = ["chosen_cluster", "cluster_option", "dry_run_option", "environment_argument", "output_option", "yes_option"]

environment_argument: Final = click.argument("environment", metavar="ENV")
cluster_option: Final = click.option("--cluster", metavar="COLOUR", help="Which cluster; the active one if not said.")
output_option: Final = click.option(
    "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="For people or programs."
)
yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask.")
dry_run_option: Final = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")


def chosen_cluster(environment: Environment, colour: str | None) -> ClusterChoice:
    """The cluster of that colour, or the active one. Raises InvalidInput for a colour that is not there."""
    if colour is None:
        return environment.active
    if colour not in environment.clusters:
        raise InvalidInput(
            [
                Problem(
                    where=environment.source,
                    what="clusters",
                    why=f"there is no cluster {colour!r}",
                    fix=f"one of: {', '.join(environment.clusters)}",
                )
            ]
        )
    return environment.clusters[colour]
