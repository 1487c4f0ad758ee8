"""The value of a command's option as a node: JSON, a file of it, or the shorthand of the AWS CLI."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lint.reader.json_node import json_node
from lint.reader.node import Array, Node, Scalar
from lint.reader.shorthand import shorthand_object
from lint.reader.source_text import SourceSpan, SourceText, load_source, quoted, refusal

__all__ = ["Option", "array_node", "object_node", "scalar_node"]

FILE: Final = re.compile(r"fileb?://(.+)", re.DOTALL)
ELSEWHERE: Final = re.compile(r"(?:https?|s3)://")
GAP: Final = re.compile(r"<[^<>]+>|\$\{[^{}]*\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option with the words that are its value. `place` is that of its name."""

    name: str
    place: SourceSpan
    values: tuple[SourceText, ...]


def scalar_node(option: Option, folder: Path) -> Node:
    """One word as it is."""
    del folder
    return Scalar(text=option.values[0].text, place=option.values[0].place(0))


def array_node(option: Option, folder: Path) -> Node:
    """A list. Raises InvalidInput, as object_node does, for what cannot be read."""
    document = _document(option, folder)
    if document is not None:
        return document
    return Array(items=tuple(shorthand_object(value) for value in option.values), place=option.place)


def object_node(option: Option, folder: Path) -> Node:
    """An object."""
    document = _document(option, folder)
    return shorthand_object(option.values[0]) if document is None else document


def _document(option: Option, folder: Path) -> Node | None:
    """None for shorthand."""
    value = option.values[0]
    text = value.text.strip()
    if ELSEWHERE.match(text):
        fix = f"download it, and give it by --file, or as {option.name} file://NAME"
        raise refusal(value.place(0), what=option.name, why=f"{quoted(text)} is not fetched", fix=fix)
    if file := FILE.fullmatch(text):
        return json_node(load_source(folder / file[1], cited=value.place(0)))
    if text.startswith(("[", "{")):
        _refuse_more(option)
        return json_node(value)
    if GAP.fullmatch(text):
        return _gap(option)
    return None


def _gap(option: Option) -> Scalar:
    """Nothing is said, unless it is the settings themselves."""
    value = option.values[0]
    if option.name == "--configurations" and value.text.strip().startswith("$"):
        fix = "write the JSON there in single quotes, or name its file with file://"
        raise refusal(value.place(0), what=option.name, why="only the shell knows its value", fix=fix)
    return Scalar(text=value.text.strip(), place=value.place(0))


def _refuse_more(option: Option) -> None:
    if len(option.values) > 1:
        why = f"the JSON ends before {quoted(option.values[1].text)}"
        fix = "put the JSON in single quotes, and write '\\'' for an apostrophe in it"
        raise refusal(option.values[1].place(0), what=option.name, why=why, fix=fix)
