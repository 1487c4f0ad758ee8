"""The changes that a running cluster needs: current and proposed value, reason, and the cost of applying them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from changes.change import Change
from cli.change_lines import WIDTH, change_lines, cost_lines, trino_cost_lines
from configurations.launch import Launch
from operations.tuning import Tuning
from sizing.warning import MISSED_TARGET


def trino_tuning_page(cluster_name: str, tuning: Tuning) -> Iterator[str]:
    """Yield the page for an analytics cluster."""
    yield from _changes(cluster_name, tuning, trino_cost_lines(tuning.cost))
    yield from _not_applied(tuning)


def tuning_page(cluster_name: str, tuning: Tuning, launch: Launch) -> Iterator[str]:
    """Yield the page in lines of at most 80 columns."""
    yield from _changes(cluster_name, tuning, cost_lines(tuning.cost, launch))
    for warning in launch.plan.warnings:
        if warning.id.startswith(MISSED_TARGET):
            yield from _remark(
                f"nodes of this type cannot meet every target, however many: {warning.message}; "
                "a new cluster with another instance type may"
            )
    yield from _not_applied(tuning)


def _changes(cluster_name: str, tuning: Tuning, cost: Iterable[str]) -> Iterator[str]:
    cluster = tuning.running.cluster
    if not tuning.group_changes:
        yield f"{cluster_name}: {cluster.id}, {cluster.state}: nothing to tune"
        return
    yield f"{cluster_name}: {cluster.id}, {cluster.state}"
    for change in tuning.changes:
        yield from change_lines(change)
    yield "  Cost of applying it"
    yield from cost
    yield "  Order: " + "; ".join(group_change.title for group_change in tuning.group_changes)


def _not_applied(tuning: Tuning) -> Iterator[str]:
    if tuning.small:
        yield from _remark(f"not worth a restart: {_keys(tuning.small)} (a change of 5 % or less; --all applies it)")
    if tuning.new:
        yield from _remark(
            f"needs a new cluster, so it is not applied: {_keys(tuning.new)} (warmbase diff shows the details)"
        )


def _keys(changes: Iterable[Change]) -> str:
    return ", ".join(sorted({change.key for change in changes}))


def _remark(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
