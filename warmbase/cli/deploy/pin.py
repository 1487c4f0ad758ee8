"""`warmbase pin` writes the launch record of a running cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext

import click

from warmbase.cli.terminal import echo
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import environment_aws
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.cluster.protection import protect
from warmbase.operations.deploy import pinning
from warmbase.operations.deploy.pinning import Pinned


@click.command()
@click.argument("env")
@click.option("--cluster", "cluster_name", metavar="NAME", help="The cluster to record.  [default: all]")
@click.option("--check", is_flag=True, help="Only check whether the record matches the running cluster.")
def pin(env: str, cluster_name: str | None, *, check: bool) -> None:
    """Record a running cluster, so that it is not replaced.

    warmbase reads the deployed stacks, compares them with what EMR reports, downloads the bootstrap files, and writes
    all of it to the launch record beside the environment file. Commit the record. The command also turns on termination
    protection. `warmbase deploy` does this by itself; you need `pin` after a plain `cdk deploy`.

    \b
    Example:
      warmbase pin prod
      warmbase pin prod --check

    Exit codes: 3 the record is missing, or does not match the running cluster.
    """
    environment = read_environment(env)
    aws = environment_aws(environment, os.environ)
    with nullcontext() if check else environment_lock(aws, environment, "pin"):
        for name in [cluster_name] if cluster_name else environment.cluster_names:
            pinned = (pinning.check_pinned if check else pinning.pin)(aws, environment, name)
            for line in _lines(name, pinned, check=check):
                echo(line)
            if not check:
                echo(f"  {protect(aws, environment.name, name)}")


def _lines(cluster_name: str, pinned: Pinned, *, check: bool) -> Iterator[str]:
    record = pinned.record
    cluster = f"{record.cluster_id}, launched at {record.launched_at}"
    yield f"{cluster_name}: {cluster}; EMR confirms {pinned.confirmed} facts"
    if check:
        yield f"  the record {record.directory} matches it"
        return
    count = sum(map(len, record.resources.values()))
    replaced = ", replacing an earlier record" if pinned.replaced else ""
    yield f"  wrote {record.directory}{replaced}:"
    yield f"  {count} resources, {len(record.bootstrap)} bootstrap files; commit it"
