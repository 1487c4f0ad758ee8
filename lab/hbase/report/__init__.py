"""A run of the lab for people: its figures, ratios and targets as text, and the sentences that every page has.

Those are the verdict, the time, the machine, and the properties that the lab changed. `charts` draws the curves, and
`page` writes all of it as one HTML page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from lab.hbase.result import Machine, Measurement, Run, Scenario, Substitution, TargetKind
from warmbase.ground.units import format_duration, format_percent, format_rate, format_size

NOTHING: Final = "-"
"""The text in place of a missing prediction, ratio or target."""
FIGURES: Final = 4
WHOLE_FROM: Final = 1000
"""Numbers from this size on have no decimals."""
FINE_FROM: Final = 0.1
FINE_BELOW: Final = 10
"""Ratios between these have two decimals, larger ones have one."""


def number_text(value: float) -> str:
    """Return a number with four figures and never an exponent, a whole one whole."""
    if not math.isfinite(value):
        return "no number"
    if abs(value) >= WHOLE_FROM or value == round(value):
        return f"{value:,.0f}"
    decimals = FIGURES - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".")


def amount_text(value: float | str, unit: str) -> str:
    """Return a number with its unit, bytes with a binary one; text stays unchanged."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return number_text(value)
    match unit:
        case "B":
            return format_size(value)
        case "B/s":
            return format_rate(value)
        case "x":
            return f"{number_text(value)}x"
    return f"{number_text(value)} {unit}".rstrip()


def measured_text(figure: Measurement) -> str:
    """Return the measured figure with its unit."""
    return amount_text(figure.measured, figure.unit)


def predicted_text(figure: Measurement) -> str:
    """Return the predicted figure with its unit; a dash without a prediction."""
    return NOTHING if figure.predicted is None else amount_text(figure.predicted, figure.unit)


def ratio_text(figure: Measurement) -> str:
    """Return measured over predicted; a dash where one of them is no number, or nothing was predicted."""
    measured, predicted = figure.measured, figure.predicted
    if isinstance(measured, str) or isinstance(predicted, str) or not predicted:
        return NOTHING
    ratio = measured / predicted
    if not math.isfinite(ratio):
        return NOTHING
    if FINE_FROM <= abs(ratio) < FINE_BELOW:
        return f"{ratio:.2f}"
    return f"{ratio:,.1f}" if abs(ratio) >= FINE_BELOW else f"{ratio:.2g}"


def target_text(figure: Measurement) -> str:
    """Return the target of the measurement, such as `at least 0.95` or `within 10 %`; a dash without one."""
    target, unit = figure.target, figure.unit
    if target is None:
        return NOTHING
    match target.kind:
        case TargetKind.SAME:
            return "as predicted"
        case TargetKind.WITHIN_FRACTION:
            return f"within {format_percent(target.bound)}"
        case TargetKind.WITHIN_FACTOR:
            return f"within a factor of {number_text(target.bound)}"
        case TargetKind.WITHIN_DIFFERENCE:
            return f"within ± {amount_text(target.bound, unit)}"
        case TargetKind.AT_LEAST | TargetKind.AT_MOST:
            return f"{target.kind} {amount_text(target.bound, unit)}"


def by_case(figures: Iterable[Measurement]) -> dict[str, list[Measurement]]:
    """Return the figures under their case, in the order in which the cases came."""
    cases: dict[str, list[Measurement]] = {}
    for figure in figures:
        cases.setdefault(figure.case, []).append(figure)
    return cases


def targets_text(figures: Iterable[Measurement]) -> str:
    """Return how many targets were met, such as `2 of 3 targets met`; facts that must match are counted separately."""
    targets = [figure for figure in figures if figure.target is not None]
    facts = [figure.holds for figure in targets if figure.target and figure.target.kind is TargetKind.SAME]
    measured = [figure.holds for figure in targets if figure.target and figure.target.kind is not TargetKind.SAME]
    parts = [_verdict(measured, "target") if measured else "", _verdict(facts, "fact") if facts else ""]
    return ", ".join(filter(None, parts)) or "no target was set"


def _verdict(outcomes: Sequence[bool | None], what: str) -> str:
    verb = "met" if what == "target" else "as predicted"
    if not all(outcomes):
        return f"{outcomes.count(True):,} of {len(outcomes):,} {what}s {verb}"
    return f"all {len(outcomes):,} {what}s {verb}" if len(outcomes) > 1 else f"the one {what} {verb}"


def verdict(run: Run) -> str:
    """Return the outcome of the whole run as a sentence."""
    text = targets_text(figure for scenario in run.scenarios for figure in scenario.figures)
    return f"{text[0].upper()}{text[1:]}."


def missed_text(figure: Measurement) -> str:
    """Return one missed target with its figure, prediction and bound."""
    what = ", ".join(filter(None, (figure.case, figure.name)))
    predicted = "" if figure.predicted is None else f", predicted {predicted_text(figure)}"
    return f"{what}: {measured_text(figure)}{predicted}, target {target_text(figure)}"


def outcome(figure: Measurement) -> str:
    """Return `met` or `missed`, or nothing without a target."""
    return {True: "met", False: "missed", None: ""}[figure.holds]


def when(run: Run) -> str:
    """Return when the first scenario began, and how long all of them took."""
    if not run.scenarios:
        return "no scenario was run"
    seconds = sum(scenario.seconds for scenario in run.scenarios)
    return f"{_moment(min(scenario.began for scenario in run.scenarios))}, in {format_duration(seconds)}"


def times_of(scenario: Scenario) -> str:
    """Return when a scenario began, how long it took, and the seed that repeats its load."""
    return f"Began {_moment(scenario.began)}, took {format_duration(scenario.seconds)}, seed {scenario.seed}."


def _moment(text: str) -> str:
    """Return an ISO 8601 time to the minute, and any other text unchanged."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M %Z").rstrip()
    except ValueError:
        return text


def machine_text(machine: Machine) -> str:
    """Return the machine's cores, memory and kernel."""
    cores = f"{machine.cores} core{'s' * (machine.cores != 1)}"
    return f"{cores}, {format_size(machine.memory_bytes)} of memory, kernel {machine.kernel}"


def limits_of_the_machine(machine: Machine) -> str:
    """Return which resources could be limited here, and what answers reads of the cache file otherwise."""
    cached = "reads of the cache's files come from the page cache, so their speed says nothing about an EBS volume"
    if machine.disk_is_limited and machine.memory_is_limited:
        return f"Disk and memory are limited where a scenario says so. In all other scenarios, {cached}."
    if machine.disk_is_limited:
        what = "Memory could not be limited here"
    elif machine.memory_is_limited:
        what = "The disk could not be limited here"
    else:
        what = "Neither disk nor memory could be limited here"
    return f"{what}: {cached}."


def properties_text(run: Run) -> str:
    """Return how many properties are as rendered, and how many are not."""
    others = len(run.substitutions)
    if not run.properties:
        return f"The lab sets {others} properties, for these reasons:"
    same = f"{run.properties:,} {'property is' if run.properties == 1 else 'properties are'} exactly as rendered"
    if not others:
        return f"{same}; none differs."
    return f"{same}; {others} differ{'s' * (others == 1)} in the lab (- as rendered, + here), for these reasons:"


def tried_text(substitutions: Iterable[Substitution]) -> Iterator[str]:
    """Yield the properties that a scenario changed, one line for each reason: key = value, …: why."""
    for why, group in differences_by_reason(substitutions).items():
        settings = (f"{one.key} = {'not set' if one.lab is None else one.lab}" for one in group)
        yield f"{', '.join(settings)}: {why}"


def differences_by_reason(substitutions: Iterable[Substitution]) -> dict[str, list[Substitution]]:
    """Return the substitutions under their reason, in the order in which they came."""
    reasons: dict[str, list[Substitution]] = {}
    for substitution in substitutions:
        reasons.setdefault(substitution.why, []).append(substitution)
    return reasons


def difference(substitution: Substitution) -> Sequence[tuple[str, str]]:
    """Return the lines of a diff as (sign, text): the key, the rendered value, the lab's value."""
    sides = (("-", substitution.rendered), ("+", substitution.lab))
    values = ((sign, line) for sign, value in sides if value is not None for line in value.splitlines() or [""])
    return ((" ", substitution.key), *values)


def slug(text: str) -> str:
    """Return the text as part of an address or of the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
