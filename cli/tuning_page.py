"""What is to be done to a cluster that runs: current, proposed, why, and the cost of applying it."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from cli.change_lines import WIDTH, change_lines, cost_lines
from configurations.launch import Launch
from operations.tuning import Tuning
from sizing.warning import MISSED_TARGET

__all__ = ["tuning_page"]


def tuning_page(colour: str, found: Tuning, launch: Launch) -> Iterator[str]:
    """Lines, 80 columns wide."""
    cluster = found.running.cluster
    if not found.moves:
        yield f"{colour}: {cluster.id}, {cluster.state}: nothing to be tuned"
    else:
        yield f"{colour}: {cluster.id}, {cluster.state}"
        for change in found.changes:
            yield from change_lines(change)
        yield "  What applying it costs"
        yield from cost_lines(found.cost, launch)
        yield "  In this order: " + "; ".join(move.title for move in found.moves)
    for warning in launch.plan.warnings:
        if warning.id.startswith(MISSED_TARGET):
            yield from wrap(
                f"no number of these nodes meets every target: {warning.message}; a new cluster of other nodes may",
                WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
                break_on_hyphens=False,
            )
    if found.small:
        keys = ", ".join(sorted({change.key for change in found.small}))
        yield from wrap(
            f"left alone, for it is not worth a restart: {keys} (within 5 %; --all applies them)",
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
    if found.new:
        keys = ", ".join(sorted({change.key for change in found.new}))
        yield from wrap(
            f"only in a new cluster, and never tried here: {keys} (warmbase diff says what of each)",
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
