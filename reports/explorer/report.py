"""The page as one file without a server, with a plan for each value at which a slider stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from facts.today import today
from reports.decision_page import DecisionPage
from reports.explorer.answer import State, advice_texts, answer, decision_rows
from reports.explorer.page_file import single_page
from reports.explorer.page_input import MODE, Kind, PageInput
from reports.explorer.subject import Subject, subject_document
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


def report_page(subject: Subject, plan: Plan, decision: DecisionPage | None, document: Document) -> str:
    """Return the page; `document` is what `warmbase plan ENV --output json` prints: the plan, or the decision."""
    base = answer("plan", State(subject=subject, values={}))
    priced = [{**step, "price": _price(subject, step)} for step in base.pop("steps")]
    report = {
        "base": {**base, "yaml": "", "steps": priced},
        "variants": dict(_variants(subject)),
        "advice": advice_texts(plan.alternatives),
        "rows": decision_rows(decision) if decision else [],
        "written": today().isoformat(),
    }
    return single_page({"subject": subject_document(subject), "report": report, "plan": document})


def _price(subject: Subject, step: Document) -> Document:
    price = answer("price", State(subject=subject, values=step["values"], is_free=step["free"]))
    return {"usd_per_month": price.get("usd_per_month"), "p99_ms": price.get("p99_ms")}


def _variants(subject: Subject) -> Iterator[tuple[str, list[Document]]]:
    """Yield the key of each input that has stops, with the plan at each stop."""
    for key, entry in subject.inputs.items():
        plans = [plan for text in _stops(entry) for plan in _plan_at(subject, key, text)]
        if plans:
            yield key, plans


def _plan_at(subject: Subject, key: str, text: str) -> Iterator[Document]:
    """Yield the plan at a stop, or nothing if the value is refused together with the other values of the file."""
    document = answer("plan", State(subject=subject, values={key: text}))
    if "plan" in document:
        yield {"text": text, "answer": {**document, "yaml": "", "steps": []}}


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
