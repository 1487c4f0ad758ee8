"""warmbase plan: what to buy, what it will do, why, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import click

from cli.options import chosen_cluster, cluster_option, environment_argument, output_option
from environments.planning import plan_of
from environments.reader import read_environment
from lint.secret import redacted
from sizing.problem import Infeasible

__all__ = ["plan"]


@click.command()
@environment_argument
@cluster_option
@output_option
@click.option("--explain", is_flag=True, help="Also what was rejected and why, nearest first.")
def plan(environment: str, cluster: str | None, output: str, *, explain: bool) -> None:
    """Size a cluster: what to buy, what it will do, why, and what it costs.

    A cluster whose type, count and volumes are all pinned is evaluated instead of chosen. Exits with 3 when
    nothing meets the targets.

    \b
    Example:
      warmbase plan prod
      warmbase plan prod --explain
      warmbase plan prod --output json
    """
    read = read_environment(environment)
    sized = plan_of(read, chosen_cluster(read, cluster))
    if output == "json":
        from reports.json_text import json_text, plain  # noqa: PLC0415 - each output loads what it needs

        shown = [replace(override, value=redacted(override.key, override.value)) for override in read.overrides]
        click.echo(json_text({**plain(sized), "overrides": shown}))
    else:
        from cli.plan_page import print_plan  # noqa: PLC0415 - rich is for people

        print_plan(sized, read.overrides, explain=explain)
    if not sized.feasible:
        raise Infeasible("nothing meets the targets; what would do: " + "; or ".join(sized.nearest))
