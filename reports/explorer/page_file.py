"""The files of the page, and the page as one file that needs no server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

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
