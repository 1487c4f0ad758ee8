"""`warmbase tables` aligns the column families of a running cluster with its plan, one region of a table first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict, Unpack

import click

from warmbase.cli.operate.region_pages import tables_page
from warmbase.cli.operate.running import RunningCluster, ignore
from warmbase.cli.options import cluster_option, dry_run_option, environment_argument, yes_option
from warmbase.cli.page import Page
from warmbase.cli.terminal import echo
from warmbase.operations.aws.progress import Stage
from warmbase.operations.cluster.drift import refuse_moved
from warmbase.operations.hbase.tables import environment_tables, refuse_unchangeable, table_proposal


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
    back. Without TABLE, it changes all tables of the plan. If a change was
    interrupted, the same command first undoes it, or finishes it if the first region has passed its checks.

    \b
    Example:
      warmbase tables prod --dry-run
      warmbase tables prod usertable

    Exit codes: 3 a region is not open, or the master would reopen too many at once.
    """
    running = RunningCluster.read(environment, options["cluster"], refuse_unchangeable)
    launch = running.launch
    tables = environment_tables(running.aws, launch, running.cluster.id)

    echo("asking the master through EMR steps", err=True)
    proposal = table_proposal(tables, launch, options["tables"], ignore)
    fills = running.fill_warning() if proposal.changes and launch.plan.mode.has_bucket_cache else ()
    Page().show([*tables_page(running, proposal, tables), *fills])

    def stages() -> Iterable[Stage]:
        now = table_proposal(tables, launch, options["tables"], ignore)
        refuse_moved(proposal.basis, now.basis)
        return tables.stages(now.changes)

    if (proposal.changes or proposal.interrupted) and not options["dry_run"]:
        running.carry_out("tables", "Change them?", stages, yes=options["yes"])
