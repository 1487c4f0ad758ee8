"""Sentences about a run that every page shares: the verdict, the time, the machine, and the changed properties."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from lab.hbase.report.amounts import measured_text, predicted_text, target_text
from lab.hbase.result import Machine, Measurement, Run, Scenario, Substitution, TargetKind
from sizing.units import format_duration, format_size


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
