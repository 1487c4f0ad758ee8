"""The result of a run: figures beside their predictions, curves over time, and the set-up of each scenario.

Plain data, written as JSON and read back; pages are made from it and from nothing else.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from msgspec import Struct, to_builtins


class TargetKind(StrEnum):
    """The condition that a target sets for a measured figure."""

    AT_LEAST = "at least"
    AT_MOST = "at most"
    WITHIN_FRACTION = "within a fraction of the prediction"
    WITHIN_DIFFERENCE = "within a difference of the prediction"
    WITHIN_FACTOR = "within a factor of the prediction"
    SAME = "the same as predicted"


class MeasurementTarget(Struct, frozen=True, kw_only=True):
    """A bound that a figure is held to; `bound` is in the figure's unit, a fraction (0.1 is 10 %) or a factor."""

    kind: TargetKind
    bound: float = 0.0

    def holds(self, measured: float | str, predicted: float | str | None) -> bool:
        """Return whether the measurement meets the target. Raises ValueError where a needed prediction is missing."""
        if self.kind is TargetKind.SAME:
            return measured == predicted
        if isinstance(measured, str):
            raise TypeError(f"{measured!r} is not a number: only the target {TargetKind.SAME!s} applies to text")
        if self.kind is TargetKind.AT_LEAST:
            return measured >= self.bound
        if self.kind is TargetKind.AT_MOST:
            return measured <= self.bound
        if predicted is None or isinstance(predicted, str):
            raise ValueError(f"{self.kind}, but there is no prediction")
        if self.kind is TargetKind.WITHIN_DIFFERENCE:
            return abs(measured - predicted) <= self.bound
        if self.kind is TargetKind.WITHIN_FRACTION:
            return abs(measured - predicted) <= self.bound * abs(predicted)
        return predicted / self.bound <= measured <= predicted * self.bound


class Measurement(Struct, frozen=True, kw_only=True):
    """One measured figure. `case` is what was varied ("kill -9", "0.4 of the data"); a name may stand for a number.

    `because` says what the prediction is made of, or how it was measured where nothing is predicted. `unit` is what
    stands behind the number: "" for a ratio from 0 to 1.
    """

    case: str
    name: str
    unit: str = ""
    measured: float | str
    predicted: float | str | None = None
    because: str
    target: MeasurementTarget | None = None

    @property
    def holds(self) -> bool | None:
        """Return whether its target is met; None without one."""
        return None if self.target is None else self.target.holds(self.measured, self.predicted)


class Series(Struct, frozen=True, kw_only=True):
    """One line of a chart, as (x, y)."""

    name: str
    points: tuple[tuple[float, float], ...]


class Chart(Struct, frozen=True, kw_only=True):
    """Lines over one axis; a series named `predicted …` is drawn dashed."""

    title: str
    x: str
    y: str
    series: tuple[Series, ...]


class Substitution(Struct, frozen=True, kw_only=True):
    """A property that the lab changes, and why; None means that it was not rendered, or is left out here."""

    key: str
    rendered: str | None
    lab: str | None
    why: str


class Outage(Struct, frozen=True, kw_only=True):
    """A time in which one region answered no read: from the first read that failed to the first that succeeded.

    `server` is the number of the RegionServer that had the region when probing began; `begin_seconds` counts from
    there. `seconds` is None for a region that still failed when probing ended.
    """

    case: str
    region: str
    server: int
    begin_seconds: float
    seconds: float | None


class Scenario(Struct, frozen=True, kw_only=True):
    """One experiment: its question, its figures and charts, and the limits of what they show."""

    name: str
    title: str
    question: str
    figures: tuple[Measurement, ...]
    charts: tuple[Chart, ...]
    limits: tuple[str, ...]
    seed: int
    began: str
    seconds: float
    tried: tuple[Substitution, ...] = ()
    """The properties that the scenario changed; `rendered` then has the lab's value."""
    outages: tuple[Outage, ...] = ()
    """Every outage of a region, where the scenario probed them."""

    @property
    def missed(self) -> tuple[Measurement, ...]:
        """Return the figures whose target is not met."""
        return tuple(figure for figure in self.figures if figure.holds is False)


class Machine(Struct, frozen=True, kw_only=True):
    """The machine that ran the scenarios, and the limits that it could set."""

    cores: int
    memory_bytes: int
    kernel: str
    disk_is_limited: bool
    memory_is_limited: bool


class Run(Struct, frozen=True, kw_only=True):
    """All scenarios of one run with their set-up; `scale` is (quantity, in the plan, here)."""

    environment: str
    release: str
    command: str
    software: tuple[tuple[str, str], ...]
    substitution: str | None
    machine: Machine
    scale: tuple[tuple[str, str, str], ...]
    properties: int
    substitutions: tuple[Substitution, ...]
    scenarios: tuple[Scenario, ...]

    def to_json(self) -> str:
        """Return the run as text that `of_json` reads back. Raises ValueError for a number that is not finite."""
        return json.dumps(to_builtins(self), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def of_json(cls, text: str) -> Run:
        """Return the run in the text. Raises ValueError, KeyError or TypeError for any other text."""
        value = json.loads(text)
        return cls(
            **value
            | {
                "software": tuple((name, version) for name, version in value["software"]),
                "machine": Machine(**value["machine"]),
                "scale": tuple((what, planned, here) for what, planned, here in value["scale"]),
                "substitutions": tuple(Substitution(**substitution) for substitution in value["substitutions"]),
                "scenarios": tuple(_scenario(scenario) for scenario in value["scenarios"]),
            }
        )


def _scenario(value: dict[str, Any]) -> Scenario:
    return Scenario(
        **value
        | {
            "figures": tuple(_figure(figure) for figure in value["figures"]),
            "charts": tuple(_chart(chart) for chart in value["charts"]),
            "limits": tuple(value["limits"]),
            "tried": tuple(Substitution(**substitution) for substitution in value["tried"]),
            # A run recorded before there was a prober has none.
            "outages": tuple(Outage(**outage) for outage in value.get("outages", ())),
        }
    )


def _figure(value: dict[str, Any]) -> Measurement:
    target = value["target"]
    bound = MeasurementTarget(kind=TargetKind(target["kind"]), bound=target["bound"]) if target else None
    return Measurement(**value | {"target": bound})


def _chart(value: dict[str, Any]) -> Chart:
    lines = (Series(name=line["name"], points=tuple((x, y) for x, y in line["points"])) for line in value["series"])
    return Chart(**value | {"series": tuple(lines)})
