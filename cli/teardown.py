"""warmbase teardown: the end of one cluster."""

from __future__ import annotations

import os

import click

from cli.options import chosen_cluster, dry_run_option, environment_argument, yes_option
from cli.progress import TerminalProgress
from environments.reader import read_environment
from operations import teardown as ending
from operations.aws import Aws
from operations.progress import carry_out

__all__ = ["teardown"]


@click.command()
@environment_argument
@click.argument("cluster_name")
@click.option("--exported", metavar="s3://URL/", help="In mode hdfs: where a snapshot of every table was exported to.")
@dry_run_option
@yes_option
def teardown(environment: str, cluster_name: str, exported: str | None, *, dry_run: bool, yes: bool) -> None:
    """End one cluster without losing anything: flush, stop, look, terminate.

    Its tables are disabled, hbase:meta is flushed, HBase is stopped and its write-ahead log seen to be empty, each
    verified before the next; it refuses at the first that cannot be. Then the cluster is terminated and its stacks
    are deleted. Data, keys and logs stay.

    \b
    Example:
      warmbase teardown prod green

    Exit codes: 3 something would be lost.
    """
    read = read_environment(environment)
    chosen_cluster(read, cluster_name)
    aws = Aws(os.environ | {"AWS_REGION": read.region})
    identity, state = ending.recorded_cluster(aws, read, cluster_name)
    steps = list(ending.teardown(aws, read, cluster_name, exported))
    click.echo(f"current   {cluster_name}: {f'{identity}, {state}' if identity else 'no cluster was launched'}")
    for number, step in enumerate(steps):
        click.echo(f"{'' if number else 'proposed':<10}{step.title}")
    click.echo("kept      root, keys, logs, and the network")
    if dry_run:
        return
    if not yes:
        click.confirm(f"End cluster {cluster_name} of {read.name}?", abort=True, err=True)
    carry_out(steps, TerminalProgress())
    click.echo(f"cluster {cluster_name} is gone; take it out of {read.source}, or the next deployment launches it anew")
