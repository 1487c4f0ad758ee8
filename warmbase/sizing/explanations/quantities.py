"""The inputs of a formula, each with the place that it comes from."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from warmbase.ground.units import GIB, MIB
from warmbase.sizing.explanation import UNIT, Explanation, Quantity, Value, explain
from warmbase.sizing.requirements import PINNED_BY, Pins
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.workload import ClosedLoad

__all__ = [
    "GIBIBYTE",
    "MEBIBYTE",
    "MILLISECONDS",
    "NOTHING",
    "SETTING",
    "WHOLE",
    "computed",
    "constant",
    "fact",
    "figure",
    "offered_reads",
    "pinned",
    "setting",
]

GIBIBYTE: Final = Quantity(value=GIB, unit="B", source=UNIT)
MEBIBYTE: Final = Quantity(value=MIB, unit="B", source=UNIT)
MILLISECONDS: Final = Quantity(value=1000, unit="ms/s", source=UNIT)
WHOLE: Final = Quantity(value=1, source=UNIT)
NOTHING: Final = Quantity(value=0, source=UNIT)
SETTING: Final = "environment file: "
"""The prefix of the source of a value that the environment file states."""


def constant(module: ModuleType, name: str, unit: str = "") -> Quantity:
    """A constant of the calculator, read from the module whose comment gives the argument for it."""
    return Quantity(value=getattr(module, name), unit=unit, source=f"{module.__name__}.{name}")


def setting(value: Value, unit: str, key: str) -> Quantity:
    """Return a value that the environment file states under that key."""
    return Quantity(value=value, unit=unit, source=f"{SETTING}{key}")


def offered_reads(inputs: SizingInputs) -> Quantity:
    """Return the load that the environment file states: the requests in flight, or the mean or peak rate of reads."""
    load, reads = inputs.requirements.workload.load, "workload.reads"
    if isinstance(load, ClosedLoad):
        return setting(load.concurrency, "requests in flight", f"{reads}.concurrency")
    return setting(load.reads_per_second, "reads/s", f"{reads}.{'peak_' if load.of_peak else ''}per_second")


def figure(value: Value, unit: str, path: str) -> Quantity:
    """Another figure of the same plan, which has an explanation of its own where its path is one."""
    return Quantity(value=value, unit=unit, source=f"plan: {path}")


def fact(value: Value, unit: str, table: str) -> Quantity:
    """Return a property of an instance type, or of a storage mode."""
    return Quantity(value=value, unit=unit, source=table)


def computed(value: Value, unit: str, function: str) -> Quantity:
    """Return the result of a function of the calculator."""
    return Quantity(value=value, unit=unit, source=function)


def pinned(pins: Pins, name: str) -> Explanation | None:
    """Return the explanation of a figure that an override pins, None where the calculator chose it."""
    value = getattr(pins, name)
    if value is None:
        return None
    return explain(
        "stated",
        "Your override sets this to {stated}, and the plan uses it.",
        "the environment file",
        stated=setting(value, "", f"overrides.{PINNED_BY[name]}"),
    )
