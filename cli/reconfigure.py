"""`warmbase reconfigure` applies the settings and node counts of today's plan to a running cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from changes.engines.trino.planned import deployable_trino_cluster
from changes.planned_cluster import deployable_cluster
from cli.options import (
    chosen_analytics,
    chosen_cluster,
    cluster_option,
    confirm,
    dry_run_option,
    environment_argument,
    output_option,
    yes_option,
)
from cli.progress import TerminalProgress
from cli.terminal import echo
from cli.tuning_page import trino_tuning_page, tuning_page
from environments.reader import read_environment
from operations.basis import group_basis, refuse_moved
from operations.engines.trino.tuning import trino_tuning_of
from operations.identity import environment_aws
from operations.lock import environment_lock
from operations.progress import carry_out
from operations.reconfiguration import reconfiguration
from operations.tuning import Tuning, tuning_of
from reports.json_text import json_text


@click.command()
@environment_argument
@cluster_option
@click.option("--all", "everything", is_flag=True, help="Also apply changes too small to be worth a restart.")
@dry_run_option
@yes_option
@output_option
def reconfigure(environment: str, cluster: str | None, output: str, **switches: bool) -> None:
    """Apply today's plan to a running cluster.

    warmbase changes settings and node counts. EMR applies settings by a rolling restart, and replaces whatever was set
    in an instance group by hand. If EMR fails, warmbase shows the reason and restores the previous settings of the
    group. Changes that need a new cluster are listed and never applied.

    \b
    Example:
      warmbase reconfigure prod --dry-run
      warmbase reconfigure prod

    Exit codes: 3 something prevents the change.
    """
    read = read_environment(environment)
    aws = environment_aws(read, os.environ)
    analytics = chosen_analytics(read, cluster)
    cluster_name = analytics.name if analytics else chosen_cluster(read, cluster).name

    def proposed() -> tuple[Tuning, Iterator[str]]:
        if analytics:
            tuning = trino_tuning_of(aws, deployable_trino_cluster(read, analytics), everything=switches["everything"])
            return tuning, trino_tuning_page(cluster_name, tuning)
        planned = deployable_cluster(read, cluster_name)
        tuning = tuning_of(aws, planned, everything=switches["everything"])
        return tuning, tuning_page(cluster_name, tuning, planned.launch)

    tuning, page = proposed()
    if output == "json":
        document = {"changes": tuning.changes, "small": tuning.small, "new_cluster": tuning.new, "cost": tuning.cost}
        echo(json_text(document | {"moves": [group_change.title for group_change in tuning.group_changes]}))
    else:
        echo("\n".join(page))
    if switches["dry_run"] or not tuning.group_changes:
        return
    if not switches["yes"]:
        confirm("Apply this?")
    with environment_lock(aws, read, "reconfigure"):
        now, _ = proposed()
        refuse_moved(group_basis(tuning.running), group_basis(now.running))
        carry_out(reconfiguration(aws, tuning), TerminalProgress())
