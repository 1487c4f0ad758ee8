"""The text of an environment file with some values changed, as `warmbase explore` offers it to copy or save."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import yaml

from environments.reader.assignment import Assignment, assigned
from environments.reader.document import ASSUMED, Document, comment_start, parse_document
from sizing.problem import InvalidInput

WIDTH: Final = 110
EARLIER: Final = "# earlier assumption:"
"""Takes the place of the mark at a value that nobody stated, as the new value is stated."""
Values = dict[str, object]


def edited_text(text: str, document: Document, assignments: Iterable[Assignment]) -> str:
    """Return the text with the values of the assignments; it has the comments of `text` if the edit is unambiguous.

    `document` is the parsed `text`. If the edit is ambiguous, the file is written anew, without comments and without
    keys whose value is null.
    """
    wanted = list(assignments)
    values = _without_nulls(assigned(document, wanted).values)
    edited = text
    for assignment in wanted:
        edited = _replaced(edited, document, assignment)
    if repr(_values(edited)) == repr(values):  # To Python, `true`, 1 and 1.0 are equal.
        return edited
    return yaml.safe_dump(values, sort_keys=False, default_flow_style=None, allow_unicode=True, width=WIDTH)


def _replaced(text: str, document: Document, assignment: Assignment) -> str:
    """Return the text with the new value on the line of its key, or unchanged if that line lacks the old value."""
    path, line = assignment.path, document.lines.get(assignment.path, 0)
    if not line or path not in document.written:
        return text
    lines = text.splitlines(keepends=True)
    key, old = re.escape(str(path[-1])), re.escape(document.written[path])
    replacement = lambda match: match[1] + assignment.text  # noqa: E731 - a template would interpret backslashes
    lines[line - 1] = re.sub(rf"""(\b{key}:\s*)["']?{old}["']?""", replacement, lines[line - 1], count=1)
    if all(path[: len(entry)] == entry for entry, other in document.lines.items() if other == line):
        start = comment_start(lines, line)
        lines[start:line] = [ASSUMED.sub(EARLIER, comment) for comment in lines[start:line]]
    return "".join(lines)


def _values(text: str) -> object:
    try:
        return _without_nulls(parse_document(text.encode(), "", Path()).values)
    except InvalidInput:
        return None


def _without_nulls(value: object) -> object:
    """Return a value without the keys that are null."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value
