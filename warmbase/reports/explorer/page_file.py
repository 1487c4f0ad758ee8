"""The files of the page, and the page as one file that needs no server.

That file has a plan for each value at which a slider stops.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from warmbase.environments.reader.key import Kind
from warmbase.facts import today
from warmbase.ground.units import format_size, parse_duration, parse_fraction, parse_multiple, parse_size
from warmbase.reports.decision_page import DecisionPage
from warmbase.reports.explorer.answer import answer, decision_rows
from warmbase.reports.explorer.page_input import PageInput
from warmbase.reports.explorer.subject import State, Subject, subject_document
from warmbase.reports.json_text import plain
from warmbase.reports.plan_text import ColumnTable

PAGE: Final = Path(__file__).parent / "page"
HTML: Final = "index.html"
MAIN: Final = "main.js"
STYLE: Final = "style.css"
TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
GENERATOR: Final = b'<meta name="generator" content="warmbase" />'
MARK_BYTES: Final = 512
"""The mark of the generator is within so many bytes of the start of the page."""
DATA: Final = "<!-- data -->"
POLICY: Final = "<!-- policy -->"
LINK: Final = f'<link rel="stylesheet" href="{STYLE}" />'
SCRIPT: Final = f'<script type="module" src="{MAIN}"></script>'
IMPORT: Final = re.compile(r"^import \{[^}]*\} from \"\./([\w-]+\.js)\";\n", flags=re.MULTILINE)
EXPORT: Final = re.compile(r"^export (?=const |function |class |async )", flags=re.MULTILINE)
# The policy allows no request, and only the script and the style that have these hashes.
ALONE: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; base-uri 'none'; form-action 'none'"
)


def is_page(path: Path) -> bool:
    """Return whether a file is a page that warmbase has written. Raises OSError if nobody can read it."""
    with path.open("rb") as file:
        return GENERATOR in file.read(MARK_BYTES)


def page_files() -> Mapping[str, bytes]:
    """Return the content of each file of the page, by the name of the file."""
    return {file.name: file.read_bytes() for file in sorted(PAGE.iterdir()) if file.suffix in TYPES}


def served_page(data: Mapping[str, Any]) -> str:
    """Return the page as the server sends it, with its data; scripts and style are separate files."""
    return _read(HTML).replace(POLICY, "").replace(DATA, _blocks(data))


def single_page(data: Mapping[str, Any]) -> str:
    """Return the page as one file, whose policy forbids every request."""
    script, style = _script(), _read(STYLE)
    policy = ALONE.format(script=_hash(script), style=_hash(style))
    return (
        _read(HTML)
        .replace(POLICY, f'<meta http-equiv="Content-Security-Policy" content="{policy}" />')
        .replace(LINK, f"<style>{style}</style>")
        .replace(SCRIPT, f'<script type="module">{script}</script>')
        .replace(DATA, _blocks(data))
    )


def _blocks(data: Mapping[str, Any]) -> str:
    """Return each document in a script element, which the page finds by its id. No text can end the element early."""
    return "\n".join(
        f'<script type="application/json" id="{name}">{_json(document)}</script>' for name, document in data.items()
    )


def _json(document: object) -> str:
    # The name of a file may have bytes that are no text, and only as ASCII can they be written.
    return json.dumps(document, separators=(",", ":")).replace("<", "\\u003c")


def _script() -> str:
    """Return all modules as one script, because a page that is opened as a file cannot import modules.

    No two modules may define the same top-level name; a test enforces this.
    """
    return "".join(EXPORT.sub("", IMPORT.sub("", _read(name))) for name in module_names())


def module_names() -> tuple[str, ...]:
    """Return the modules of the page, each after the modules that it imports."""
    ordered: dict[str, None] = {}
    for name in _imported_first(MAIN):
        ordered.setdefault(name)
    return tuple(ordered)


def _imported_first(name: str) -> Iterator[str]:
    for imported in IMPORT.findall(_read(name)):
        yield from _imported_first(imported)
    yield name


def _read(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


Document = dict[str, Any]

# judgement: enough values to see where the price bends, and few enough to plan them all in seconds.
FACTORS: Final = (0.5, 1.5, 2.0, 3.0)
NUMBERS: Final[Mapping[Kind, Callable[[str], float]]] = {
    "size": parse_size,
    "time": parse_duration,
    "multiple": parse_multiple,
    "share": lambda text: parse_fraction(text if "%" in text else float(text)),
    "skew": lambda text: float(_zipf(text)),
}


class Report(Struct, frozen=True, kw_only=True):
    """A page without a server; `document` is what the command prints with `--output json`.

    `decision` is the cluster for the ranges in the file, and `columns` are those of `warmbase compare`. If `is_free`,
    warmbase chooses the nodes, even if the file states them. Such plans come from `command`, and only for the values of
    the file.
    """

    subject: Subject
    document: Document
    decision: DecisionPage | None = None
    columns: ColumnTable | None = None
    is_free: bool = False
    command: str = ""

    def page(self) -> str:
        """Return the page."""
        base = answer("plan", self._state({}))
        priced = [{**step, "price": self._price(step)} for step in base.pop("steps")]
        report = {
            "base": {**base, "yaml": "", "steps": priced, "command": self.command or base["command"]},
            "variants": dict(self._variants()),
            "advice": answer("advice", self._state({}))["advice"],
            "rows": decision_rows(self.decision) if self.decision else [],
            "columns": plain(self.columns),
            "note": self._note,
        }
        return single_page({"subject": subject_document(self.subject), "report": report, "plan": self.document})

    @property
    def _note(self) -> str:
        free = "warmbase chooses the nodes, even if the file states them. " if self.columns else ""
        lists = [
            entry.title.lower() for entry in self.subject.inputs.values() if entry.kind == "choice" and entry.stops
        ]
        names = "".join(f", and the list of {name}s," for name in lists)
        return (
            f"Written on {today().isoformat()}. {free}Each slider{names} has only values for which a plan was computed."
            " A change resets all other inputs. The last two plots and the advice do not follow the inputs. For other"
            " values, run warmbase explore."
        )

    def _state(self, values: Mapping[str, str], column: str = "") -> State:
        return State(subject=self.subject, values=values, is_free=self.is_free, column=column)

    def _price(self, step: Document) -> Document:
        price = answer("price", self._state(step["values"], step["column"]))
        return {"usd_per_month": price.get("usd_per_month")}

    def _variants(self) -> Iterator[tuple[str, list[Document]]]:
        """Yield the key of each input that has stops, with the plan at each stop."""
        for key, entry in self.subject.inputs.items():
            plans = [plan for text in _stops(entry) for plan in self._plan_at(key, text)]
            if plans:
                yield key, plans

    def _plan_at(self, key: str, text: str) -> Iterator[Document]:
        """Yield the plan at a stop, or nothing if the value is refused together with the other values of the file."""
        state = answer("plan", self._state({key: text}))
        if "problems" not in state:
            more = {"command": ""} if self.command else {}
            yield {"text": text, "answer": {**state, "yaml": "", "steps": [], **more}}


def _stops(entry: PageInput) -> list[str]:
    """Return the values at which the slider of an input stops, in order, or which its list offers."""
    if entry.kind == "choice":
        return list(entry.stops)
    if not entry.text:
        return []
    try:
        stops = {_number(entry.kind, text): text for text in (*_other_values(entry), entry.text)}
    except ValueError:  # The input has no number, or one that YAML alone can read, such as 0x10.
        return []
    return [text for _, text in sorted(stops.items())] if len(stops) > 1 else []


def _other_values(entry: PageInput) -> Iterator[str]:
    """Yield the values for which there are plans, in addition to the value in the file."""
    yield from entry.stops
    if entry.is_scaled:
        number = _number(entry.kind, entry.text)
        yield from (_text(entry.kind, factor * number) for factor in FACTORS)


def _number(kind: Kind, text: str) -> float:
    return NUMBERS.get(kind, float)(text)


def _zipf(text: str) -> str:
    return "0" if text == "uniform" else text


def _text(kind: Kind, value: float) -> str:
    return format_size(round(value)).replace(",", "") if kind == "size" else f"{round(value)}"
