"""What is to be done to a cluster that runs: current, proposed, why, and the cost of applying it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from changes.change import Change
from cli.change_lines import WIDTH, change_lines, cost_lines
from configurations.launch import Launch
from operations.tuning import Tuning
from sizing.warning import MISSED_TARGET

__all__ = ["tuning_page"]


def tuning_page(cluster_name: str, found: Tuning, launch: Launch) -> Iterator[str]:
    """Lines, 80 columns wide."""
    cluster = found.running.cluster
    if not found.group_changes:
        yield f"{cluster_name}: {cluster.id}, {cluster.state}: nothing to be tuned"
    else:
        yield f"{cluster_name}: {cluster.id}, {cluster.state}"
        for change in found.changes:
            yield from change_lines(change)
        yield "  What applying it costs"
        yield from cost_lines(found.cost, launch)
        yield "  In this order: " + "; ".join(move.title for move in found.group_changes)
    for warning in launch.plan.warnings:
        if warning.id.startswith(MISSED_TARGET):
            said = "no number of these nodes meets every target"
            yield from _remark(f"{said}: {warning.message}; a new cluster of other nodes may")
    if found.small:
        yield from _remark(
            f"left alone, for it is not worth a restart: {_keys(found.small)} (within 5 %; --all applies them)"
        )
    if found.new:
        yield from _remark(
            f"only in a new cluster, and never tried here: {_keys(found.new)} (warmbase diff says what of each)"
        )


def _keys(changes: Iterable[Change]) -> str:
    return ", ".join(sorted({change.key for change in changes}))


def _remark(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
