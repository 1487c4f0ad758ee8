"""`warmbase claim` shows or releases the lock that lets one cluster write to an HBase root."""

from __future__ import annotations

import os

import click

from warmbase.cli.options import confirm, environment_argument, output_option, yes_option
from warmbase.cli.page import PROPOSAL, Page, Paragraph
from warmbase.cli.terminal import echo, print_json
from warmbase.environments.environment import Environment
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.operations.aws.clients import environment_aws
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.cluster import claims
from warmbase.operations.cluster.claims import NOBODY, Claim


@click.command()
@environment_argument
@click.option("--take", is_flag=True, help="Release the claim, so that the next active cluster can claim the root.")
@yes_option
@output_option
def claim(environment: str, output: str, *, take: bool, yes: bool) -> None:
    """Show which cluster may write to the HBase root.

    The claim is a lock object in the root bucket. The primary node of an active cluster creates it before HBase is
    installed; while that cluster runs, no other cluster can start on the root.

    A root that HBase wrote to under another tool has no claim, and warmbase refuses to start on it. Once nothing
    writes there any more, confirm that with --take. --take also releases a claim, but never the claim of a cluster
    that EMR reports as running.

    \b
    Example:
      warmbase claim prod
      warmbase claim prod --take
    """
    read = read_environment(environment)
    if not read.mode.keeps_data_in_s3:
        raise InvalidInput([_no_root(read)])
    aws = environment_aws(read, os.environ)
    current = claims.claim_of(aws, read.root)
    if not take:
        url = f"s3://{read.root.bucket_in(aws.account)}/{read.root.claim_key}"
        if output == "json":
            print_json({"url": url, "claim": current})
        else:
            Page().show([url, Paragraph(text=_claim_text(current), indent=2)])
        return
    writers = [
        f"{writer}: it writes to this root, and two writers corrupt it"
        for writer in claims.running_writers(aws, read.root)
    ]
    rows = [
        ("current", _claim_text(current)),
        ("proposed", "release the claim; the next active cluster can then claim the root"),
        ("risk", "a cluster that EMR does not list here, and that still writes, would corrupt the data"),
        *(("running", writer) for writer in writers),
    ]
    PROPOSAL.show(rows, err=True)
    if not yes:
        confirm("Are you sure that nothing writes to this root any more?")
    with environment_lock(aws, read, "claim --take"):
        claims.release(aws, read, current)
    echo("The root is free: the next active cluster can claim it.")


def _no_root(read: Environment) -> Problem:
    return Problem(
        where=read.source,
        what="storage.mode",
        why="in mode hdfs the data is on the nodes of one cluster, where no other can write: there is no claim",
        fix="nothing to do",
    )


def _claim_text(current: Claim | None) -> str:
    if current is None:
        return "no cluster has claimed the root"
    if current.cluster == NOBODY:
        return f"the root is free: its claim was released at {current.claimed_at}"
    state = current.state or "unknown to EMR"
    return (
        f"{current.cluster} in {current.region}, account {current.account}, since {current.claimed_at}; "
        f"the cluster is {state}"
    )
