"""The page as one file without a server, with a plan for each value at which a slider stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from facts.today import today
from reports.compared_modes import ModeTable
from reports.decision_page import DecisionPage
from reports.explorer.answer import State, advice_texts, answer, decision_rows
from reports.explorer.page_file import single_page
from reports.explorer.page_input import MODE, Kind, PageInput
from reports.explorer.subject import Subject, subject_document
from reports.json_text import plain
from sizing.plan import Plan
from sizing.units import format_size, parse_fraction, parse_size

Document = dict[str, Any]

# judgement: enough values to see where the price bends, and few enough to plan them all in seconds.
FACTORS: Final = (0.5, 1.5, 2.0, 3.0)
SCALED: Final = ("stored", "per_second", "concurrency", "row")
"""The last parts of the keys whose sliders stop at these multiples of the value in the file, and at that value."""
STOPS: Final[Mapping[str, tuple[str, ...]]] = {
    "popularity": ("uniform", "0.7", "0.9", "0.99", "1.1"),
    "hit_ratio": ("0.8", "0.9", "0.95", "0.99"),
    "lost_nodes": ("0", "1", "2"),
}
"""The values at which the other sliders stop, in addition to the value in the file."""
NUMBERS: Final[Mapping[Kind, Callable[[str], float]]] = {
    "size": parse_size,
    "share": lambda text: parse_fraction(text if "%" in text else float(text)),
    "skew": lambda text: float(_zipf(text)),
}


class Report(Struct, frozen=True, kw_only=True):
    """A page without a server; `document` is what the command prints with `--output json`.

    `decision` is the cluster for the ranges in the file, and `modes` the storage modes side by side. If `is_free`,
    warmbase chooses the core nodes, even if the file states them. Such plans come from `command`, and only for the
    values of the file.
    """

    subject: Subject
    plan: Plan
    document: Document
    decision: DecisionPage | None = None
    modes: ModeTable | None = None
    is_free: bool = False
    command: str = ""

    def page(self) -> str:
        """Return the page."""
        base = answer("plan", self._state({}))
        priced = [{**step, "price": self._price(step)} for step in base.pop("steps")]
        report = {
            "base": {**base, "yaml": "", "steps": priced, "command": self.command or base["command"]},
            "variants": dict(self._variants()),
            "advice": advice_texts(self.plan.alternatives),
            "rows": decision_rows(self.decision) if self.decision else [],
            "modes": plain(self.modes),
            "written": today().isoformat(),
        }
        return single_page({"subject": subject_document(self.subject), "report": report, "plan": self.document})

    def _state(self, values: Mapping[str, str], *, is_free: bool = False) -> State:
        return State(subject=self.subject, values=values, is_free=is_free or self.is_free)

    def _price(self, step: Document) -> Document:
        price = answer("price", self._state(step["values"], is_free=step["free"]))
        return {"usd_per_month": price.get("usd_per_month"), "p99_ms": price.get("p99_ms")}

    def _variants(self) -> Iterator[tuple[str, list[Document]]]:
        """Yield the key of each input that has stops, with the plan at each stop."""
        for key, entry in self.subject.inputs.items():
            plans = [plan for text in _stops(entry) for plan in self._plan_at(key, text)]
            if plans:
                yield key, plans

    def _plan_at(self, key: str, text: str) -> Iterator[Document]:
        """Yield the plan at a stop, or nothing if the value is refused together with the other values of the file."""
        state = answer("plan", self._state({key: text}))
        if "plan" in state:
            more = {"command": ""} if self.command else {}
            yield {"text": text, "answer": {**state, "yaml": "", "steps": [], **more}}


def _stops(entry: PageInput) -> list[str]:
    """Return the values at which the slider of an input stops, in order, or which its list offers."""
    if entry.key == MODE.key:
        return list(entry.choices)
    if not entry.text:
        return []
    try:
        stops = {_number(entry.kind, text): text for text in (*_other_values(entry), entry.text)}
    except ValueError:  # The input has no number, or one that YAML alone can read, such as 0x10.
        return []
    return [text for _, text in sorted(stops.items())] if len(stops) > 1 else []


def _other_values(entry: PageInput) -> Iterator[str]:
    """Yield the values for which there are plans, in addition to the value in the file."""
    name = entry.key.rpartition(".")[2]
    yield from STOPS.get(name, ())
    if name in SCALED:
        number = _number(entry.kind, entry.text)
        yield from (_text(entry.kind, factor * number) for factor in FACTORS)


def _number(kind: Kind, text: str) -> float:
    return NUMBERS.get(kind, float)(text)


def _zipf(text: str) -> str:
    return "0" if text == "uniform" else text


def _text(kind: Kind, value: float) -> str:
    return format_size(round(value)).replace(",", "") if kind == "size" else f"{round(value)}"
