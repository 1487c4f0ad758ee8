"""The decision that `warmbase plan` prints for an environment whose inputs are ranges."""

from __future__ import annotations

import click
from msgspec import Struct

from cli.plan_summary import cluster_heading, labelled_lines
from cli.terminal import echo, echo_styled, page_columns
from environments.reader.ranges import RangedDocument
from environments.samples import Sampling
from reports.decision_page import DecisionPage, decision_page, samples_text
from reports.json_text import json_text


class DecisionRequest(Struct, frozen=True, kw_only=True):
    """The options of `warmbase plan` that matter to a decision."""

    cluster: str
    output: str
    sampling: Sampling


def show_decision(ranged: RangedDocument, request: DecisionRequest) -> None:
    """Print the cluster with the least mean regret. Raises Infeasible where none meets the targets in any sample."""
    if request.output == "markdown":
        raise click.UsageError("A plan from ranges is printed as a table or as JSON.")
    count = len(ranged.ranges)
    echo(f"planning {samples_text(request.sampling.count)} of {count} range{'s' * (count > 1)}", err=True)
    page = decision_page(ranged, request.cluster, request.sampling)
    if request.output == "json":
        echo(json_text(page.document()))
    else:
        echo_styled(_text(page, page_columns()))


def _text(page: DecisionPage, width: int) -> str:
    """Return the page for a terminal of that width."""
    head = cluster_heading(page.environment.name, page.cluster)
    samples = f"{page.sampling.count} samples of the ranges, seed {page.sampling.seed}"
    blocks = ("\n".join(labelled_lines(rows, width)) for rows in page.blocks)
    return "\n\n".join([f"{head}   {samples}", *filter(None, blocks)])
