"""The pages of the documentation: the commands in them, the lines that they show, and how those compare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[1]
README: Final = PROJECT / "README.md"
DOCS: Final = PROJECT / "docs"
PAGES: Final = (
    README,
    PROJECT / "CONTRIBUTING.md",
    PROJECT / "SECURITY.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("decisions/*.md")),
)
ELLIPSIS: Final = "…"
WARMBASE: Final = ".venv/bin/warmbase"
BLOCK: Final = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```", flags=re.DOTALL | re.MULTILINE)
# Times, ports, processes and ids differ from run to run.
VARYING: Final = (
    (re.compile(r"\d+\.\d s$"), "TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"kill \d+"), "kill PROCESS"),
    (re.compile(r"\bj-[A-Z0-9]+"), "j-ID"),
    (re.compile(r"\bi-[0-9a-f]{17}\b"), "i-ID"),
    (re.compile(r"\bip-\d+-\d+-\d+-\d+\b"), "ip-ADDRESS"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"), "DATE AND TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"), "DATE AND TIME"),
    (re.compile(r"(?<=blue-)\d{4}-\d\d-\d\d(?=\.md)"), "DATE"),
    (re.compile(r"\d+\.\d min remaining"), "TIME remaining"),
    (re.compile(r"written [\d.]+ (s|min) ago"), "written TIME ago"),
    (re.compile(r"(?<=\[y/N\]: )y$"), ""),
)


def blocks(page: Path, language: str) -> list[str]:
    """Return the texts of a page's fenced blocks in a language, in order."""
    return [text for name, text in fences(page) if name == language]


def fences(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each fenced block of a page, in order."""
    return [(block["language"], block["text"]) for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def sessions(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a console block with the lines that the page shows below it."""
    for block in blocks(page, "console"):
        yield from session(block)


def session(block: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of one console block with its lines."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output.splitlines()


def normal(line: str) -> str:
    """Return a line with names in place of what varies."""
    for pattern, name in VARYING:
        line = pattern.sub(name, line)
    return line.rstrip()


def assert_printed_in_order(lines: list[str], printed: list[str]) -> None:
    """Every line of the page is printed, in the order of the page; an ellipsis skips lines."""
    rest = iter([normal(line) for line in printed])
    for line in lines:
        if ELLIPSIS not in line and line.strip():
            assert normal(line) in rest, f"not printed, or not in this place: {line!r}"


def assert_printed_whole(lines: list[str], printed: list[str]) -> None:
    """Every printed line is on the page, and nothing else; only a line with nothing but an ellipsis skips lines."""
    rest, skips = [normal(line) for line in printed], False
    for line in map(normal, lines):
        if line == ELLIPSIS:
            skips = True
            continue
        assert rest, f"not printed: {line!r}"
        if skips:
            assert line in rest, f"not printed, or not in this place: {line!r}"
            rest = rest[rest.index(line) :]
        assert rest[0] == line, f"printed {rest[0]!r}, the page shows {line!r}"
        rest, skips = rest[1:], False
    assert skips or not rest, f"printed, and not on the page: {rest}"
