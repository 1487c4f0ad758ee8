"""The additional plans for two plots: the price by amount of data for each storage mode, and what moves the price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from environments.environment import Environment
from environments.input_range import InputRange
from environments.sensitivity import REACH
from reports.explorer.page_input import MODE, Kind, PageInput
from reports.explorer.subject import ZIPF, Subject
from sizing.modes import MODES
from sizing.units import parse_size

STORED: Final = "workload.stored"
CODEC: Final = "workload.compression.codec"
RATIO: Final = "workload.compression.ratio"
FACTORS: Final = (0.25, 0.5, 1.0, 2.0, 3.0)
HERE: Final = "here"
VARIED: Final = "workload."
"""The plot of what moves the price varies the keys with this prefix: they are estimates, but targets are decisions."""
WRITTEN: Final[Mapping[Kind, Callable[[float], str]]] = {
    "size": lambda value: f"{round(value)} B",
    "count": lambda value: f"{value:.6g}",
    "ratio": lambda value: f"{value:.6g}",
    "skew": lambda value: f"{value:.6g}",
}


class Step(Struct, frozen=True, kw_only=True):
    """One plan of a plot: `series` names its line or bar, and `x` is the amount of data or the factor of the input."""

    plot: str
    series: str
    x: float
    label: str
    values: Mapping[str, str]
    free: bool


def steps(
    subject: Subject, values: Mapping[str, str], environment: Environment, ranges: Iterable[InputRange] = ()
) -> list[Step]:
    """Return the plans that both plots need for a state of the page, whose inputs may be ranges."""
    ends = {entry.key: (entry.text(entry.low), entry.text(entry.high)) for entry in ranges}
    return [*_data_steps(subject, values, environment), *_input_steps(subject, values, ends)]


def _data_steps(subject: Subject, values: Mapping[str, str], environment: Environment) -> Iterator[Step]:
    """Yield a plan for each amount of data and each mode, or nothing if the page has no input for the stored data."""
    if STORED not in subject.inputs:
        return
    stored = environment.workload.stored_bytes
    for factor in FACTORS:
        for name, mode in MODES.items():
            data = round(factor * stored)
            yield Step(
                plot="data",
                series=mode.title,
                x=data,
                label=HERE if factor == 1 and mode == environment.mode else "",
                values={**values, STORED: f"{data} B", MODE.key: name},
                free=True,
            )


def _input_steps(subject: Subject, values: Mapping[str, str], ends: Mapping[str, tuple[str, str]]) -> Iterator[Step]:
    for key, entry in subject.inputs.items():
        is_without_codec = key == RATIO and values.get(CODEC, subject.inputs[CODEC].text) == "none"
        if not key.startswith(VARIED) or is_without_codec:
            continue
        name = f"{key}.{ZIPF}" if entry.kind == "skew" else key
        texts = ends.get(name) or _varied(entry, values.get(key, entry.text))
        for factor, text in zip((1 - REACH, 1 + REACH), texts, strict=False):
            yield Step(
                plot="inputs", series=entry.title, x=factor, label=text, values={**values, key: text}, free=False
            )


def _varied(entry: PageInput, text: str) -> tuple[str, ...]:
    """Return an input a fifth smaller and larger, or nothing if it is not a number that can be varied."""
    number = _number(entry, text)
    return tuple(WRITTEN[entry.kind](factor * number) for factor in (1 - REACH, 1 + REACH)) if number else ()


def _number(entry: PageInput, text: str) -> float | None:
    """Return the number of an input that can be varied by a fifth, or None if the input is not such a number."""
    try:
        return parse_size(text) if entry.kind == "size" else float(text) if entry.kind in WRITTEN else None
    except ValueError:
        return None
