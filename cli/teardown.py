"""`warmbase teardown` shuts down one cluster without losing data."""

from __future__ import annotations

import os

import click

from cli.options import chosen_cluster, dry_run_option, environment_argument, yes_option
from cli.progress import TerminalProgress
from cli.terminal import echo
from environments.reader import read_environment
from operations.aws import Aws
from operations.progress import carry_out
from operations.teardown import recorded_cluster
from operations.teardown import teardown as teardown_stages


@click.command()
@environment_argument
@click.argument("cluster_name", metavar="CLUSTER")
@click.option("--exported", metavar="s3://URL/", help="Mode hdfs only: where you exported a snapshot of every table.")
@dry_run_option
@yes_option
def teardown(environment: str, cluster_name: str, exported: str | None, *, dry_run: bool, yes: bool) -> None:
    """Shut down one cluster without losing data.

    warmbase disables the tables, flushes hbase:meta, stops HBase and checks that the write-ahead log is empty. It
    verifies each step before the next, and stops at the first step that it cannot verify. Only then does it terminate
    the cluster and delete its stacks. Data, keys and logs are kept.

    \b
    Example:
      warmbase teardown prod green

    Exit codes: 3 something would be lost.
    """
    read = read_environment(environment)
    chosen_cluster(read, cluster_name)
    aws = Aws(os.environ | {"AWS_REGION": read.region})
    identity, state = recorded_cluster(aws, read, cluster_name)
    steps = list(teardown_stages(aws, read, cluster_name, exported))
    echo(f"current   {cluster_name}: {f'{identity}, {state}' if identity else 'no cluster was launched'}")
    for number, step in enumerate(steps):
        echo(f"{'' if number else 'proposed':<10}{step.title}")
    echo("kept      root, keys, logs, and the network")
    if dry_run:
        return
    if not yes:
        click.confirm(f"Terminate cluster {cluster_name} of {read.name}?", abort=True, err=True)
    carry_out(steps, TerminalProgress())
    echo(f"cluster {cluster_name} is gone; remove it from {read.source}, or a deployment launches it again")
