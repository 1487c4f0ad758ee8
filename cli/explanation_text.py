"""The text of an explanation: the figure, the sentence, the formula, the inputs and the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import fill
from typing import Final, Protocol

from cli.terminal import echo, page_columns
from sizing.explanation import Explanation
from sizing.units import format_duration, format_percent, format_size, format_usd

THOUSAND: Final = 1000
UNITS: Final[Mapping[str, Callable[[str, float], str]]] = {
    "memory.parts.": lambda number, value: f"{number} B ({format_size(value)})",
    "_bytes": lambda number, value: f"{number} B ({format_size(value)})",
    "_mib_s": lambda number, _: f"{number} MiB/s",
    "_mib": lambda number, _: f"{number} MiB",
    "_gib": lambda number, _: f"{number} GiB",
    "_ms": lambda number, _: f"{number} ms",
    "seconds": lambda number, value: f"{number} s ({format_duration(value)})",
    "_per_second": lambda number, _: f"{number}/s",
    "usd_per_month": lambda _, value: f"{format_usd(value)} a month",
    "_fraction": lambda _, value: format_percent(value),
    "lower_limit": lambda _, value: format_percent(value),
    "hit_ratio.": lambda _, value: format_percent(value),
    "busiest_server.": lambda number, _: f"{number} times the mean",
}
"""How a figure is shown with its unit, by a part of its path; the first that fits. Others are counts or names."""


class AnyPlan(Protocol):
    """A plan of any engine."""

    def figure(self, path: str) -> object:
        """Return the figure at that path."""


def print_explanation(path: str, explanation: Explanation, plan: AnyPlan) -> None:
    """Print the figure at a path of the plan, and why it is what it is."""
    echo(f"{path} = {_value(path, plan)}")
    echo(indented(explanation.sentence))
    echo(indented(explanation.formula))
    for name, quantity in explanation.facts.items():
        echo(f"    {name:<20} {quantity!s:<18} {quantity.source}")
    echo(indented(f"source: {explanation.source}"))


def indented(text: str) -> str:
    """Return the text as a paragraph that is indented by two columns."""
    return fill(text.strip(), width=page_columns(), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _value(path: str, plan: AnyPlan) -> str:
    value = plan.figure(path)
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if not isinstance(value, int | float):
        return str(value)
    number = f"{value:,.4g}" if isinstance(value, float) and value < THOUSAND else f"{value:,.0f}"
    return next((text(number, value) for part, text in UNITS.items() if part in path), number)
