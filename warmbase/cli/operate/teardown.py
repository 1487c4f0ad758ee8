"""`warmbase teardown` shuts down one cluster without losing data."""

from __future__ import annotations

import os

import click

from warmbase.cli.options import chosen_name, confirm, dry_run_option, environment_argument, yes_option
from warmbase.cli.page import PROPOSAL
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import echo
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import environment_aws
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.drift import cluster_basis, refuse_moved
from warmbase.operations.cluster.stack import environment_cluster
from warmbase.operations.deploy.teardown import Consent
from warmbase.operations.deploy.teardown import teardown as teardown_stages


@click.command()
@environment_argument
@click.argument("cluster_name", metavar="CLUSTER")
@click.option("--exported", metavar="s3://URL/", help="Mode hdfs only: where you exported a snapshot of every table.")
@click.option(
    "--accept-loss",
    metavar="ID",
    help="The id of a cluster that ended by itself, to accept the loss of its unflushed data.",
)
@dry_run_option
@yes_option
def teardown(environment: str, cluster_name: str, *, dry_run: bool, yes: bool, **consents: str | None) -> None:
    """Shut down one cluster without losing data.

    warmbase disables the tables, flushes hbase:meta, stops HBase and checks that the write-ahead log is empty. It
    verifies each step before the next, and stops at the first step that it cannot verify. Only then does it terminate
    the cluster and delete its stacks. Data, keys and logs are kept.

    If the cluster ended by itself, warmbase says which data was lost with it. It then continues only if you repeat the
    cluster's id with --accept-loss.

    \b
    Example:
      warmbase teardown prod green

    Exit codes: 3 something would be lost.
    """
    read = read_environment(environment)
    chosen_name(read, cluster_name)
    aws = environment_aws(read, os.environ)
    cluster = environment_cluster(aws, read, cluster_name)
    basis = cluster_basis(aws, read, cluster_name)
    consent = Consent(exported=consents["exported"], lost_cluster=consents["accept_loss"])
    steps = list(teardown_stages(aws, read, cluster_name, consent))
    state = f"{cluster.id}, {cluster.state_text}" if cluster else "no cluster was launched"
    proposed = (("" if number else "proposed", step.title) for number, step in enumerate(steps))
    PROPOSAL.show([("current", f"{cluster_name}: {state}"), *proposed, ("kept", "root, keys, logs, and the network")])
    if dry_run:
        return
    if not yes:
        confirm(f"Terminate cluster {cluster_name} of {read.name}?")
    with environment_lock(aws, read, f"teardown {cluster_name}"):
        refuse_moved(basis, cluster_basis(aws, read, cluster_name))
        carry_out(steps, TerminalProgress())
    echo(f"cluster {cluster_name} is gone; remove it from {read.source}, or a deployment launches it again")
