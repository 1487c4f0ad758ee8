"""`warmbase tables` aligns the column families of a running cluster with its plan, one region of a table first."""

from __future__ import annotations

import os
from typing import TypedDict, Unpack

import click

from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.cli.operate.region_pages import fill_warning, tables_page
from warmbase.cli.options import cluster_option, confirm, dry_run_option, environment_argument, yes_option
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import echo
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import environment_aws, examining
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.caches import read_progress
from warmbase.operations.cluster.drift import read_running_cluster, refuse_moved
from warmbase.operations.hbase.table_proposal import environment_tables, refuse_unchangeable, table_proposal
from warmbase.sizing.recovery.warmth import Gate


class TablesOptions(TypedDict):
    """The options of the command."""

    tables: tuple[str, ...]
    cluster: str | None
    dry_run: bool
    yes: bool


@click.command()
@environment_argument
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@cluster_option
@dry_run_option
@yes_option
def tables(environment: str, **options: Unpack[TablesOptions]) -> None:
    """Align tables with the plan, one region first.

    warmbase compares the block size, filter, encoding, compression and caching of each column family with the plan,
    and shows every difference and how it takes effect. Then it changes one table after another. First it reopens one
    region in place, and checks that the region answers and that the hit ratio of its server is at most one percentage
    point lower than before. If so, the master reopens all regions in batches; if not, the table gets its old attributes
    back. Without TABLE, it changes all tables of the plan. The same command continues a change that was interrupted.

    \b
    Example:
      warmbase tables prod --dry-run
      warmbase tables prod usertable

    Exit codes: 3 a region is not open, or the master would reopen too many at once.
    """
    read = read_environment(environment)
    launch = deployable_cluster(read, chosen_cluster(read, options["cluster"]).name).launch
    aws = environment_aws(read, os.environ, examining)
    refuse_unchangeable(launch)
    running = read_running_cluster(aws, launch).cluster
    tables = environment_tables(aws, launch, running.id)

    echo("asking the master through EMR steps", err=True)
    proposal = table_proposal(tables, launch, options["tables"], _ignore)
    echo("\n".join(tables_page(running, proposal, tables, launch)))
    if proposal.changes and launch.plan.mode.has_bucket_cache:
        for line in fill_warning(read_progress(aws, launch, running.id, Gate()), read.name):
            echo(line)
    if options["dry_run"] or not proposal.changes:
        return
    if not options["yes"]:
        confirm("Change them?")
    with environment_lock(aws, read, "tables"):
        now = table_proposal(tables, launch, options["tables"], _ignore)
        refuse_moved(proposal.basis, now.basis)
        carry_out(tables.stages(now.changes), TerminalProgress())


def _ignore(_: str) -> None:
    """Discard a line of progress."""
