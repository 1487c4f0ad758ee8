"""`warmbase compare` plans the same workload in each storage mode, side by side."""

from __future__ import annotations

from pathlib import Path

import click

from cli.compared_columns import compared_columns
from cli.options import cluster_option, environment_argument, output_option
from cli.terminal import echo, echo_styled
from environments.reader import read_environment
from facts.prices import price_table
from reports.column_table import ColumnTable


@click.command()
@environment_argument
@cluster_option
@output_option
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the comparison as an HTML page that needs no server and no network.",
)
def compare(environment: str, cluster: str | None, output: str, report: Path | None) -> None:
    """Compare the storage modes for one environment.

    Each column is the cheapest cluster that meets the targets in one mode: S3 with a disk cache, S3 without a cache,
    and HDFS. The calculator chooses everything, even where the file pins the cluster. For a mode that cannot meet the
    targets, the column shows the nearest target that it could meet.

    For a Trino cluster, the columns are the cheapest clusters with the cache on EBS volumes, with the cache on the
    instance's own NVMe drive, and without a cache.

    \b
    Example:
      warmbase compare prod
      warmbase compare prod --report compare.html
      warmbase compare docs/analytics.yaml --cluster lake
    """
    if report:
        if output != "table":
            raise click.UsageError("--report writes a page, which contains the JSON: leave out --output.")
        from cli.plan_report import write_comparison  # noqa: PLC0415 - most comparisons are printed

        write_comparison(environment, cluster, report)
        return
    read = read_environment(environment)
    plans, table = compared_columns(read, cluster)
    if output == "json":
        from reports.json_text import json_text  # noqa: PLC0415 - each output loads what it needs

        echo(json_text(plans))
        return
    _print(table)
    note = price_table(read.region).note
    if note.estimate:
        echo(f"Prices are an {note.described}. To use the real prices, run: {note.refresh}")


def _print(columns: ColumnTable) -> None:
    from rich.console import Console  # noqa: PLC0415 - for people
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=80, header_style="bold")
    table.add_column("")
    for name in columns.names:
        table.add_column(name)
    for name, *texts in columns.rows:
        table.add_row(f"[cyan]{name}[/cyan]", *texts)
    console = Console(highlight=False, width=80)
    with console.capture() as page:
        console.print(table)
    for line in page.get().splitlines():
        echo_styled(line.rstrip())
    echo()
    for summary in columns.summaries:
        echo(summary)
