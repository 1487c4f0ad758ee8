"""warmbase reconfigure: today's settings and counts for a cluster that runs."""

from __future__ import annotations

import os

import click

from changes.replan import pinned_to_record
from cli.options import chosen_cluster, cluster_option, dry_run_option, environment_argument, output_option, yes_option
from cli.progress import TerminalProgress
from cli.tuning_page import tuning_page
from environments.launch_record import launch_records
from environments.reader import read_environment
from lint.deployable import deployable_launch
from operations.aws import Aws
from operations.progress import carry_out
from operations.reconfiguration import reconfiguration
from operations.tuning import tuning_of
from reports.json_text import json_text

__all__ = ["reconfigure"]


@click.command()
@environment_argument
@cluster_option
@click.option("--all", "everything", is_flag=True, help="Apply what is too small to be worth a restart as well.")
@dry_run_option
@yes_option
@output_option
def reconfigure(environment: str, cluster: str | None, output: str, **switches: bool) -> None:
    """Give a running cluster what today's plan says: settings and number of nodes.

    EMR applies it by a rolling restart; whatever others have set in a group by hand is replaced. Where EMR gives up,
    its reason is shown and the group is given its settings of before. What needs a new cluster is named and never
    tried.

    \b
    Example:
      warmbase reconfigure prod --dry-run
      warmbase reconfigure prod

    Exit codes: 3 something is in the way.
    """
    read = read_environment(environment)
    cluster_name = chosen_cluster(read, cluster).name
    seen = pinned_to_record(read, launch_records(read).get(cluster_name))
    launch = deployable_launch(seen, seen.clusters[cluster_name])
    aws = Aws(os.environ | {"AWS_REGION": read.region})
    found = tuning_of(aws, launch, everything=switches["everything"])
    if output == "json":
        said = {"changes": found.changes, "small": found.small, "new_cluster": found.new, "cost": found.cost}
        click.echo(json_text(said | {"moves": [move.title for move in found.group_changes]}))
    else:
        click.echo("\n".join(tuning_page(cluster_name, found, launch)))
    if switches["dry_run"] or not found.group_changes:
        return
    if not switches["yes"]:
        click.confirm("Do this?", abort=True, err=True)
    carry_out(reconfiguration(aws, found), TerminalProgress())
