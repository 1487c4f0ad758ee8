"""`warmbase compact` compacts the regions of a running cluster in waves, while the caches keep answering."""

from __future__ import annotations

import os
import time
from typing import TypedDict, Unpack

import click

from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.cli.operate.region_pages import compact_page
from warmbase.cli.options import (
    DURATION,
    SHARE,
    cluster_option,
    confirm,
    dry_run_option,
    environment_argument,
    yes_option,
)
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import echo
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import environment_aws, examining
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.hbase.compaction_waves import CompactionWaves
from warmbase.operations.hbase.restart import emr_hbase


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

    Exit codes: 3 a hit ratio is below the floor already, or a table has no open region.
    """
    read = read_environment(environment)
    launch = deployable_cluster(read, chosen_cluster(read, options["cluster"]).name).launch
    aws = environment_aws(read, os.environ, examining)
    running = read_running_cluster(aws, launch).cluster
    waves = CompactionWaves(
        hbase=emr_hbase(aws, launch, running.id),
        tables=frozenset(options["tables"]),
        before=time.time() - options["older_than"],
        floor=read.targets.hit_ratio if options["floor"] is None else options["floor"],
    )
    echo("asking the master through an EMR step", err=True)
    due = waves.due(_ignore)
    echo("\n".join(compact_page(running, due, waves, launch)))
    if not due:
        return
    waves.check()
    if options["dry_run"]:
        return
    if not options["yes"]:
        confirm("Compact them?")
    with environment_lock(aws, read, "compact"):
        carry_out(waves.stages(), TerminalProgress())


def _ignore(_: str) -> None:
    """Discard a line of progress."""
