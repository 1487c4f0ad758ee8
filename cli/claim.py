"""warmbase claim: who may write to the root."""

from __future__ import annotations

import os
from textwrap import wrap

import click

from cli.change_lines import WIDTH
from cli.options import environment_argument, output_option, yes_option
from environments.environment import Environment
from environments.reader import read_environment
from operations import claims
from operations.aws import Aws
from operations.claims import NOBODY, Claim
from reports.json_text import json_text
from sizing.problem import InvalidInput, Problem

__all__ = ["claim"]


@click.command()
@environment_argument
@click.option("--take", is_flag=True, help="Take the claim away, so that the next active cluster may have it.")
@yes_option
@output_option
def claim(environment: str, output: str, *, take: bool, yes: bool) -> None:
    """Show which cluster may write to the root, and whether it runs.

    The primary of an active cluster claims the root before HBase is installed; another is refused while the first
    runs. A root that HBase has written to before, under another tool, has no claim: say by --take that nothing
    writes there any more. While EMR says that the cluster of the claim runs, that is refused.

    \b
    Example:
      warmbase claim prod
      warmbase claim prod --take
    """
    read = read_environment(environment)
    if not read.mode.keeps_data_in_s3:
        raise InvalidInput([_no_root(read)])
    aws = Aws(os.environ | {"AWS_REGION": read.region})
    found = claims.claim_of(aws, read.root)
    if not take:
        url = f"s3://{read.root.bucket_in(aws.account)}/{read.root.claim_key}"
        said = wrap(_claim_lines(found), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        click.echo(json_text({"url": url, "claim": found}) if output == "json" else "\n".join([url, *said]))
        return
    click.echo(f"current   {_claim_lines(found)}", err=True)
    click.echo("proposed  nobody writes to the root; the next active cluster may claim it", err=True)
    click.echo("risk      a cluster that this EMR does not know, and that writes there, is a second writer", err=True)
    if not yes:
        click.confirm("Does nothing write to this root any more?", abort=True, err=True)
    claims.release(aws, read, found)
    click.echo("The root is free: the next active cluster may claim it.")


def _no_root(read: Environment) -> Problem:
    return Problem(
        where=read.source,
        what="storage.mode",
        why="the data are on the nodes of one cluster: nobody else can write to them, and there is no claim",
        fix="nothing is to be done",
    )


def _claim_lines(found: Claim | None) -> str:
    if found is None:
        return "nobody has claimed the root"
    if found.cluster == NOBODY:
        return f"the root is free, as somebody said at {found.claimed_at}"
    state = found.state or "unknown to EMR: it is gone"
    return f"{found.cluster} in {found.region} of account {found.account}, since {found.claimed_at}; it is {state}"
