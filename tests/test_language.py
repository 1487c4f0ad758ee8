"""Docstrings are sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.syntax import PROJECT, project_files, tree_of

FILES = [file for file in project_files() if file.suffix == ".py"]


def room_of(file: Path) -> str:
    return file.relative_to(PROJECT).parts[0]


ROOMS = sorted({room_of(file) for file in FILES})

OPENINGS = re.compile(r"(Of|What|Whether|Who|Whose|Both|And)\b")
SHORTEST_NOUN_PHRASE = 5  # words

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def files_of(room: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield every file of a room with its name in the project and its syntax tree."""
    for file in FILES:
        if room_of(file) == room:
            yield str(file.relative_to(PROJECT)), tree_of(file)


@cache
def verbs() -> tuple[frozenset[str], frozenset[str]]:
    """Return the verb forms of a sentence, and the base forms with which a command may begin."""
    finite, _, commands = (PROJECT / "tests" / "verbs.txt").read_text(encoding="utf-8").rpartition("\n# ")
    listed = [line for line in finite.splitlines() if not line.startswith("#")]
    return frozenset(" ".join(listed).split()), frozenset(commands.partition("\n")[2].split())


def has_verb(paragraph: str) -> bool:
    finite, commands = verbs()
    spoken = re.findall(r"[A-Za-z']+", paragraph)
    first = spoken[0].lower() if spoken else ""
    return first in commands or first.removesuffix("s") in commands or any(word.lower() in finite for word in spoken)


def docstrings(tree: ast.Module) -> Iterator[tuple[Definition | ast.Module, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | Definition) and (text := ast.get_docstring(node)):
            yield node, text


def fault(node: Definition | ast.Module, text: str) -> str | None:
    """Return why a docstring is no sentence; modules and classes may be a noun phrase that says what they are."""
    paragraph = text.partition("\n\n")[0]
    if OPENINGS.match(paragraph):
        return "begins with a word that no sentence begins with"
    if isinstance(node, (ast.Module, ast.ClassDef)):
        return "has too few words" if len(paragraph.split()) < SHORTEST_NOUN_PHRASE else None
    return None if has_verb(paragraph) else "has no verb"


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "tests"])
def test_docstrings_are_sentences(room: str) -> None:
    faults = [
        f"{path}: {getattr(node, 'name', 'module')}: {why}: {text.partition(chr(10))[0]}"
        for path, tree in files_of(room)
        for node, text in docstrings(tree)
        if (why := fault(node, text))
    ]
    assert faults == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_string_below_an_attribute_begins_in_the_middle_of_a_sentence(room: str) -> None:
    """Docstrings of tests and strings below fields and constants open as a sentence does, too."""
    texts = (
        (path, node.value.value)
        for path, tree in files_of(room)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    assert [(path, text) for path, text in texts if isinstance(text, str) and OPENINGS.match(text)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    '''Of the widget.'''", "begins"),
        ("def f():\n    '''The volumes of a node.'''", "has no verb"),
        ("def f():\n    '''Return the volumes of a node.'''", None),
        ("def f():\n    '''The volumes that a node mounts.'''", None),
        ("class Volume:\n    '''A volume.'''", "has too few words"),
        ("class Volume:\n    '''One kind of volume on every node.'''", None),
    ],
)
def test_the_test_of_docstrings_can_fail(text: str, expected: str | None) -> None:
    [(node, docstring)] = docstrings(ast.parse(text))
    why = fault(node, docstring)
    assert (why is None) == (expected is None)
    assert (why or "").startswith(expected or "")
