"""warmbase deploy: what would change, and then what is done."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Final

import click

from cli.change_lines import WIDTH
from cli.options import dry_run_option, environment_argument, output_option, yes_option
from cli.progress import TerminalProgress
from cli.tuning_page import tuning_page
from environments.reader import read_environment
from operations.aws import Aws
from operations.deployment import Proposal, StackChange, Work, deployment, proposal
from operations.progress import carry_out
from reports.json_text import json_text
from sizing.units import format_usd

__all__ = ["deploy"]

SOME: Final = 3  # of the names of resources: all of them are in --output json


@click.command()
@environment_argument
@dry_run_option
@yes_option
@output_option
def deploy(environment: str, output: str, *, dry_run: bool, yes: bool) -> None:
    """Deploy an environment: its stacks, its clusters, and what is tuned in those.

    It looks at the account, shows what would change and what that costs, and asks. No change set is executed that
    would replace or remove a cluster, a bucket or a key. A cluster that it launches is read back, written down beside
    the environment file, and protected. It can be ended anywhere, and run again: it goes on.

    \b
    Example:
      warmbase deploy prod --dry-run
      warmbase deploy prod

    Exit codes: 3 something is in the way, or would be lost.
    """
    read = read_environment(environment)
    variables = dict(os.environ) | {"AWS_REGION": read.region, "AWS_DEFAULT_REGION": read.region}
    progress = TerminalProgress()
    with tempfile.TemporaryDirectory(prefix="warmbase-deploy-") as directory:
        work = Work(name=environment, aws=Aws(variables), variables=variables, directory=Path(directory))
        found = proposal(work, progress, dry_run=dry_run)
        click.echo(_document(found) if output == "json" else "\n".join(_page(found)))
        if dry_run or found.empty:
            return
        if not yes:
            click.confirm("Do this?", abort=True, err=True)
        carry_out(deployment(work, found), progress)
        for cluster_name in found.launches:
            where = Path(found.environment.source).with_suffix(".launch") / cluster_name
            click.echo(f"cluster {cluster_name} runs; its launch record is {where}: commit it")


def _document(found: Proposal) -> str:
    return json_text(
        {
            "environment": found.environment.name,
            "checks": found.checks,
            "stacks": found.stacks,
            "bucket": found.bucket,
            "tunings": {
                cluster_name: {"changes": each.changes, "small": each.small, "new_cluster": each.new, "cost": each.cost}
                for cluster_name, each in found.tunings.items()
            },
            "usd_per_month": found.usd_per_month,
            "current_usd_per_month": found.current_usd_per_month,
        }
    )


def _page(found: Proposal) -> Iterator[str]:
    yield "Looked at"
    for check in found.checks:
        yield from _wrapped(f"{check.name}: {check.detail}")
    yield "Stacks"
    for stack in found.stacks:
        yield from _wrapped(f"{stack.name}: {_result_lines(stack)}")
    for need in found.bucket:
        yield from _wrapped(f"bucket {found.environment.root.bucket}, which is yours, gets: {need}")
    yield "Clusters"
    for cluster_name, launch in found.launches.items():
        if cluster_name in found.tunings:
            yield from (f"  {line}" for line in tuning_page(cluster_name, found.tunings[cluster_name], launch))
        else:
            plan = launch.plan
            nodes = (
                f"{plan.core.count} x {plan.core.instance_type}, {plan.primary.count} x {plan.primary.instance_type}"
            )
            yield from _wrapped(f"{cluster_name}: a new cluster, {nodes}, {plan.release}; warmbase plan says why")
    yield "Cost a month, at today's prices (estimate)"
    for cluster_name, usd in found.usd_per_month.items():
        before = found.current_usd_per_month.get(cluster_name, 0.0)
        yield from _wrapped(f"{cluster_name}: {format_usd(before)} -> {format_usd(usd)}")
    if found.empty:
        yield "Nothing is to be done."


def _result_lines(stack: StackChange) -> str:
    if stack.status is None:
        return f"new, {len(stack.added)} resources"
    parts = [
        f"{len(names)} {what} ({', '.join(names[:SOME])}{', …' if len(names) > SOME else ''})"
        for what, names in (("added", stack.added), ("changed", stack.changed), ("removed", stack.removed))
        if names
    ]
    return ", ".join(parts) or "as it is"


def _wrapped(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
