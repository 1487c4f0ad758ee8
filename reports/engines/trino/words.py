"""The words in which pages tell the plan of an analytics cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sizing.engines.trino.plan import TrinoPlan
from sizing.engines.trino.request import TrinoChoice
from sizing.inputs import UTILISATION
from sizing.units import format_duration, format_percent, format_usd

OVERLOADED: Final = "more than the cluster can serve"


def query_rate(per_hour: float) -> str:
    """Return a number of queries an hour."""
    return f"{per_hour:,.0f} queries/h"


def lost_text(choice: TrinoChoice) -> str:
    """Return the loss that the cluster must bear; the targets allow for one worker at least."""
    lost = choice.targets.lost_nodes
    return f"after losing {'a worker' if lost == 1 else f'{lost} workers'}"


def decisive(plan: TrinoPlan, choice: TrinoChoice) -> str:
    """Return sentences that say what decides the number of workers."""
    busy = format_percent(plan.queries.utilisation_at_peak)
    limits = [f"{plan.queries.bottleneck} is {busy} busy in the busiest hour"]
    if choice.targets.query_seconds is not None:
        limits.append(f"the target for a query is {format_duration(choice.targets.query_seconds)}")
    limits.append(f"no resource may be more than {format_percent(UTILISATION)} busy after a loss")
    usd = sum(line.usd_per_month for line in plan.cost.lines if line.item.startswith("worker "))
    return f"{'; '.join(limits)}. One worker costs {format_usd(usd / plan.workers.count)} a month."


def missed_texts(plan: TrinoPlan) -> Iterator[str]:
    """Yield each target that the plan misses, with its value and its limit."""
    for missed in plan.missed:
        yield f"{missed.target}: {missed.actual:,.4g} {missed.unit}, limit {missed.limit:,.4g}"
