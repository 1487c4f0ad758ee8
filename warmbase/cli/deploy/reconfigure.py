"""`warmbase reconfigure` applies the settings and node counts of today's plan to a running cluster.

Its page shows each change with the current and the proposed value, the reason, and the cost of applying it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import click

from warmbase.changes.change import Change
from warmbase.changes.engine_facet import EnginePlan, changes_of
from warmbase.cli.change_parts import CHANGES, change_parts
from warmbase.cli.options import (
    chosen_name,
    cluster_option,
    confirm,
    dry_run_option,
    environment_argument,
    output_option,
    yes_option,
)
from warmbase.cli.page import Paragraph, Part
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import print_json
from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import environment_aws
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.drift import group_basis, refuse_moved
from warmbase.operations.cluster.engine_facet import operations_of
from warmbase.operations.deploy.tuning import Tuning, reconfiguration
from warmbase.sizing.plan import MISSED_TARGET


def tuning_page(tuning: Tuning, environment: Environment, plan: EnginePlan) -> Iterator[Part]:
    """Yield the changes that a running cluster needs, and the cost of applying them."""
    cluster = tuning.running.cluster
    if not tuning.group_changes:
        yield f"{plan.cluster}: {cluster.id}, {cluster.state}: nothing to tune"
    else:
        yield f"{plan.cluster}: {cluster.id}, {cluster.state}"
        for change in tuning.changes:
            yield from change_parts(change)
        yield "  Cost of applying it"
        yield from changes_of(engine_of(environment, plan.cluster)).impact_rows(tuning.cost, plan)
        yield "  Order: " + "; ".join(group_change.title for group_change in tuning.group_changes)
    texts = [
        f"nodes of this type cannot meet every target, however many: {warning.message}; "
        "a new cluster with another instance type may"
        for warning in plan.warnings
        if warning.id.startswith(MISSED_TARGET)
    ]
    if tuning.small:
        texts.append(f"not worth a restart: {_keys(tuning.small)} (a change of 5 % or less; --all applies it)")
    if tuning.new:
        texts.append(
            f"needs a new cluster, so it is not applied: {_keys(tuning.new)} (warmbase diff shows the details)"
        )
    yield from (Paragraph(text=text, indent=2, hanging=2) for text in texts)


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
    cluster_name = chosen_name(read, cluster)
    engine = engine_of(read, cluster_name)

    def proposed() -> tuple[Tuning, EnginePlan]:
        planned = changes_of(engine).deployable_cluster(read, cluster_name)
        return operations_of(engine).tuning(aws, planned, everything=switches["everything"]), planned.launch.plan

    tuning, plan = proposed()
    if output == "json":
        document = {"changes": tuning.changes, "small": tuning.small, "new_cluster": tuning.new, "cost": tuning.cost}
        print_json(document | {"moves": [group_change.title for group_change in tuning.group_changes]})
    else:
        CHANGES.show(tuning_page(tuning, read, plan))
    if switches["dry_run"] or not tuning.group_changes:
        return
    if not switches["yes"]:
        confirm("Apply this?")
    with environment_lock(aws, read, "reconfigure"):
        now, _ = proposed()
        refuse_moved(group_basis(tuning.running), group_basis(now.running))
        carry_out(reconfiguration(aws, tuning), TerminalProgress())
