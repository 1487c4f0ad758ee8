"""`warmbase compact` compacts the regions of a running cluster in waves, while the caches keep answering."""

from __future__ import annotations

from typing import TypedDict, Unpack

import click

from warmbase.cli.operate.region_pages import compact_page
from warmbase.cli.operate.running import RunningCluster, ignore
from warmbase.cli.options import DURATION, SHARE, cluster_option, dry_run_option, environment_argument, yes_option
from warmbase.cli.page import Page
from warmbase.cli.terminal import echo
from warmbase.operations.hbase.compaction_waves import CompactionWaves
from warmbase.operations.hbase.emr_hbase import emr_hbase


class CompactOptions(TypedDict):
    """The options of the command: `floor` is a share, `older_than` seconds."""

    tables: tuple[str, ...]
    cluster: str | None
    floor: float | None
    older_than: float
    dry_run: bool
    yes: bool


@click.command()
@environment_argument
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@cluster_option
@click.option(
    "--floor",
    type=SHARE,
    metavar="SHARE",
    help="The hit ratio that every RegionServer must have before the next wave.  [default: targets.hit_ratio]",
)
@click.option(
    "--older-than",
    type=DURATION,
    metavar="TIME",
    default="24 h",
    show_default=True,
    help="Leave out regions whose last major compaction is younger.",
)
@dry_run_option
@yes_option
def compact(environment: str, **options: Unpack[CompactOptions]) -> None:
    """Run a major compaction in waves that spare the caches.

    A major compaction replaces every store file, and the cache holds no block of the new ones. HBase's own
    major_compact does that for all regions of a table at once. warmbase compacts one region of each RegionServer at a
    time. Before the next wave, it waits until every server's hit ratio is at the floor again. Without TABLE, it
    compacts all tables. The same command continues a compaction that was interrupted.

    \b
    Example:
      warmbase compact prod usertable --dry-run
      warmbase compact prod usertable --floor 90%

    Exit codes: 3 a hit ratio is below the floor already, a table has no open region, or a region is not open.
    """
    running = RunningCluster.read(environment, options["cluster"])
    waves = CompactionWaves(
        hbase=emr_hbase(running.aws, running.launch, running.cluster.id),
        tables=frozenset(options["tables"]),
        before=running.aws.now().timestamp() - options["older_than"],
        floor=running.environment.targets.hit_ratio if options["floor"] is None else options["floor"],
    )
    echo("asking the master through an EMR step", err=True)
    due = waves.proposal(running.journals, ignore)
    Page().show(compact_page(running, due, waves))
    if due:
        waves.check()
    if due and not options["dry_run"]:
        running.carry_out("compact", "Compact them?", waves.stages, yes=options["yes"])
