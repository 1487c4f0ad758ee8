"""`warmbase plan` shows what to buy, what it does, why, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import click

from cli.errors import answer_document
from cli.options import chosen_cluster, cluster_option, environment_argument, output_option
from cli.terminal import echo
from environments.planning import advised_plan_of, infeasible, plan_of
from environments.reader import read_environment
from lint.secret import redacted


@click.command()
@environment_argument
@cluster_option
@output_option
@click.option("--explain", is_flag=True, help="Also list the rejected candidates, nearest first, each with the reason.")
@click.option(
    "--advice/--no-advice", default=True, help="Also look for block sizes and compression that would save money."
)
def plan(environment: str, cluster: str | None, output: str, *, explain: bool, advice: bool) -> None:
    """Show what to buy, what it does and what it costs.

    The plan is the cheapest cluster that meets the targets in the environment file. If the file states instance
    type, count and volumes of the core nodes, warmbase evaluates that cluster instead.

    \b
    Example:
      warmbase plan prod
      warmbase plan prod --explain
      warmbase plan prod --no-advice
      warmbase plan prod --output json

    Exit codes: 3 no cluster meets the targets, or the pinned one does not.
    """
    read = read_environment(environment)
    sized = (advised_plan_of if advice else plan_of)(read, chosen_cluster(read, cluster))
    error = None if sized.meets_targets else infeasible(read.source, sized)
    if output == "json":
        from reports.json_text import json_text, plain  # noqa: PLC0415 - each output loads what it needs

        overrides = [replace(override, value=redacted(override.key, override.value)) for override in read.overrides]
        echo(json_text(answer_document({**plain(sized), "overrides": overrides}, error)))
    else:
        from cli.plan_page import print_plan  # noqa: PLC0415 - rich is for people

        print_plan(sized, read.overrides, explain=explain)
    if error:
        raise error
