"""`warmbase reconfigure` applies the settings and node counts of today's plan to a running cluster.

Its page shows each change with the current and the proposed value, the reason, and the cost of applying it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import click

from warmbase.changes.change import Change
from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.cli.change_parts import CHANGES, change_parts, impact_rows, trino_impact_rows
from warmbase.cli.options import (
    chosen_analytics,
    cluster_option,
    confirm,
    dry_run_option,
    environment_argument,
    output_option,
    yes_option,
)
from warmbase.cli.page import Paragraph, Part, Row
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import echo
from warmbase.configurations.launch import Launch
from warmbase.engines.trino.changes import deployable_trino_cluster
from warmbase.engines.trino.tuning import trino_tuning_of
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import environment_aws
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.drift import group_basis, refuse_moved
from warmbase.operations.deploy.tuning import Tuning, reconfiguration, tuning_of
from warmbase.reports.json_text import json_text
from warmbase.sizing.plan import MISSED_TARGET


def trino_tuning_page(cluster_name: str, tuning: Tuning) -> Iterator[Part]:
    """Yield the page for an analytics cluster."""
    yield from _changes(cluster_name, tuning, trino_impact_rows(tuning.cost))
    yield from _not_applied(tuning)


def tuning_page(cluster_name: str, tuning: Tuning, launch: Launch) -> Iterator[Part]:
    """Yield the changes that a running cluster needs, and the cost of applying them."""
    yield from _changes(cluster_name, tuning, impact_rows(tuning.cost, launch))
    for warning in launch.plan.warnings:
        if warning.id.startswith(MISSED_TARGET):
            text = (
                f"nodes of this type cannot meet every target, however many: {warning.message}; "
                "a new cluster with another instance type may"
            )
            yield Paragraph(text=text, indent=2, hanging=2)
    yield from _not_applied(tuning)


def _changes(cluster_name: str, tuning: Tuning, impact: Iterable[Row]) -> Iterator[Part]:
    cluster = tuning.running.cluster
    if not tuning.group_changes:
        yield f"{cluster_name}: {cluster.id}, {cluster.state}: nothing to tune"
        return
    yield f"{cluster_name}: {cluster.id}, {cluster.state}"
    for change in tuning.changes:
        yield from change_parts(change)
    yield "  Cost of applying it"
    yield from impact
    yield "  Order: " + "; ".join(group_change.title for group_change in tuning.group_changes)


def _not_applied(tuning: Tuning) -> Iterator[Paragraph]:
    if tuning.small:
        text = f"not worth a restart: {_keys(tuning.small)} (a change of 5 % or less; --all applies it)"
        yield Paragraph(text=text, indent=2, hanging=2)
    if tuning.new:
        text = f"needs a new cluster, so it is not applied: {_keys(tuning.new)} (warmbase diff shows the details)"
        yield Paragraph(text=text, indent=2, hanging=2)


def _keys(changes: Iterable[Change]) -> str:
    return ", ".join(sorted({change.key for change in changes}))


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

    def proposed() -> tuple[Tuning, Iterator[Part]]:
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
        CHANGES.show(page)
    if switches["dry_run"] or not tuning.group_changes:
        return
    if not switches["yes"]:
        confirm("Apply this?")
    with environment_lock(aws, read, "reconfigure"):
        now, _ = proposed()
        refuse_moved(group_basis(tuning.running), group_basis(now.running))
        carry_out(reconfiguration(aws, tuning), TerminalProgress())
