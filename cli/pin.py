"""warmbase pin: what a running cluster was launched with, written down."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from environments.reader import read_environment
from operations import pinning
from operations.aws import Aws
from operations.pinning import Pinned
from operations.protection import protect

__all__ = ["pin"]


@click.command()
@click.argument("env")
@click.option("--cluster", "cluster_name", metavar="NAME", help="Which cluster of the file; all of them by default.")
@click.option("--check", is_flag=True, help="Only say whether the record is of the cluster that runs.")
def pin(env: str, cluster_name: str | None, *, check: bool) -> None:
    """Write the launch record of a running cluster, which keeps deployments from replacing it.

    It reads the stacks as they are deployed, holds them against what EMR describes, and fetches the bootstrap files.
    Commit what it writes. The cluster is protected from termination from then on.

    \b
    Example:
      warmbase pin prod
      warmbase pin prod --check

    Exit codes: 3 the record is missing, or of another cluster than the one that runs.
    """
    environment = read_environment(env)
    aws = Aws(os.environ | {"AWS_REGION": environment.region})
    for each in [cluster_name] if cluster_name else list(environment.clusters):
        done = (pinning.check_pinned if check else pinning.pin)(aws, environment, each)
        for line in _lines(each, done, check=check):
            click.echo(line)
        if not check:
            click.echo(f"  {protect(aws, environment, each)}")


def _lines(cluster_name: str, done: Pinned, *, check: bool) -> Iterator[str]:
    record = done.record
    yield f"{cluster_name}: {record.cluster_id}, launched at {record.launched_at}; EMR confirms {done.confirmed} facts"
    if check:
        yield f"  {record.directory} is its record"
        return
    count = sum(map(len, record.resources.values()))
    again = ", in the place of another" if done.replaced else ""
    yield f"  wrote {record.directory}{again}:"
    yield f"  {count} resources, {len(record.bootstrap)} bootstrap files; commit it"
