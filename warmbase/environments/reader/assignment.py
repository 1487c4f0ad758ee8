"""Values that the command line sets in an environment file before it is checked: `--set workload.stored=14TiB`.

`edited_text` writes the same changes into the text of the file, which `warmbase explore` offers to copy or save.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Self

import yaml
from msgspec import Struct
from msgspec.structs import replace

from warmbase.environments.reader.document import ASSUMED, Document, YamlPath, comment_start, parse_document, path_text
from warmbase.ground.errors import InvalidInput

TABLES: Final = ("workload", "tables")
CLUSTERS: Final = ("clusters",)
OPTION: Final = "--set"
EXAMPLE: Final = "--set workload.stored=14TiB"
PART: Final = re.compile(r"(?:^|\.)([^.\[\]]+)|\[(\d{1,4})\]")
FREE_KEYS: Final = {"tags": 1, "overrides": 2}
"""Sections whose innermost keys may contain dots and whose values are text, with the number of parts before the key."""


class Assignment(Struct, frozen=True, kw_only=True):
    """One value that replaces, or adds, the value at a path of an environment file; the file itself stays as it is."""

    path: YamlPath
    value: Document
    text: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the assignment that `PATH=VALUE` describes. Raises InvalidInput where it describes none."""
        written, equals, value = text.partition("=")
        path = tuple(_path(written.strip()))
        if not equals or not path:
            raise InvalidInput.of(
                where=f"{OPTION} {text}",
                what="is not PATH=VALUE",
                why=f"the path {written!r} is not a series of keys with dots between them"
                if equals
                else "there is no equals sign",
                fix=f"write it like {EXAMPLE}",
            )
        document = _value(value, f"{OPTION} {path_text(path)}")
        has_text = len(path) > FREE_KEYS.get(str(path[0]), len(path)) and () in document.written
        document = replace(document, values=document.written[()]) if has_text else document
        return cls(path=path, value=document, text=value.strip())

    @classmethod
    def at(cls, path: YamlPath, text: str, where: str) -> Self:
        """Return the assignment of a value in YAML; messages about it name `where`, such as an option."""
        return cls(path=path, value=_value(text, where), text=text)

    @property
    def where(self) -> str:
        """Return the place that messages about the value name."""
        return self.value.source

    def __str__(self) -> str:
        """Return the option as it was written. The value of an override may be a secret, and is left out."""
        return self.where if self.path[0] == "overrides" else f"{OPTION} {path_text(self.path)}={self.text}"


def _path(text: str) -> Iterator[str | int]:
    """Yield the parts of a path such as `clusters.blue.core.volumes[0].size`; nothing for what is not a path."""
    matches = list(PART.finditer(text))
    if "".join(match.group() for match in matches) != text:
        return
    parts = [match[1] or int(match[2]) for match in matches]
    free = FREE_KEYS.get(str(parts[0]) if parts else "", len(parts))
    yield from parts[:free]
    if parts[free:]:
        yield path_text(tuple(parts[free:]))


def _value(text: str, where: str) -> Document:
    """Return the value as YAML reads it. Raises InvalidInput that names the option instead of a line."""
    try:
        value = parse_document(text.encode(), where, Path())
    except InvalidInput as error:
        fix = "write the value as YAML, such as 14TiB or '{zipf: 0.8}', in quotes for your shell"
        raise InvalidInput(replace(problem, where=where, fix=fix) for problem in error.problems) from None
    return replace(value, problems=tuple(replace(problem, where=where) for problem in value.problems))


def assigned(document: Document, assignments: Iterable[Assignment]) -> Document:
    """Return the document with those values in it, the later of two for one path."""
    for assignment in assignments:
        named = replace(assignment, path=_of_table(document, assignment.path))
        _check_name(document, named)
        document = _assigned(document, named)
    return document


def _of_table(document: Document, path: YamlPath) -> YamlPath:
    """Return the path with the name of a table as one part, which HBase allows to have dots."""
    tables = [entry[2] for entry in document.lines if entry[:2] == TABLES and len(entry) == len(TABLES) + 1]
    rest = path_text(path[len(TABLES) :]) if path[: len(TABLES)] == TABLES else ""
    named = max((str(name) for name in tables if rest.startswith(f"{name}.")), key=len, default="")
    if "." not in named or named in path:
        return path
    return (*TABLES, named, *path[len(TABLES) + named.count(".") + 1 :])


def _check_name(document: Document, assignment: Assignment) -> None:
    """Raise InvalidInput for one key of a table or a cluster that is not in the file, but has nearly the same name."""
    for section in (TABLES, CLUSTERS):
        depth = len(section) + 1
        enclosing = assignment.path[:depth]
        if enclosing[:-1] != section or len(assignment.path) == depth or _is_known(document, enclosing):
            continue
        names = [str(entry[-1]) for entry in document.lines if entry[:-1] == section]
        if near := get_close_matches(str(enclosing[-1]), names, n=1):
            raise InvalidInput.of(
                where=assignment.where,
                what="no such place",
                why=f"the file has no {path_text(enclosing)}",
                fix=f"did you mean {near[0]!r}? To add {str(enclosing[-1])!r}, set {path_text(enclosing)} as a whole",
            )


def _assigned(document: Document, assignment: Assignment) -> Document:
    path, value = assignment.path, assignment.value
    created = [path[:end] for end in range(1, len(path)) if not _is_known(document, path[:end])]
    inside = [(*path, *entry) for entry in value.lines]
    return replace(
        document,
        values=_with_value(document.values, assignment, 0),
        lines={entry: line for entry, line in document.lines.items() if entry[: len(path)] != path},
        written={entry: text for entry, text in document.written.items() if entry[: len(path)] != path}
        | {(*path, *entry): text for entry, text in value.written.items()},
        problems=(*document.problems, *value.problems),
        assigned={entry: where for entry, where in document.assigned.items() if entry[: len(path)] != path}
        | dict.fromkeys((*created, path, *inside), assignment.where),
    )


def _is_known(document: Document, path: YamlPath) -> bool:
    return path in document.lines or path in document.assigned


def _with_value(container: object, assignment: Assignment, depth: int) -> object:
    """Return a copy of what is at that depth of the path, with the value in it; an alias elsewhere stays as it is."""
    if depth == len(assignment.path):
        return assignment.value.values
    key = assignment.path[depth]
    if isinstance(key, int):
        if not isinstance(container, list) or key >= len(container):
            raise _no_such_place(assignment, depth, f"is not a list with an entry [{key}]")
        entries = list(container)
        entries[key] = _with_value(entries[key], assignment, depth + 1)
        return entries
    if container is not None and not isinstance(container, dict):
        kind = (
            "a list; name its entry by number, such as [0]" if isinstance(container, list) else "a value without keys"
        )
        raise _no_such_place(assignment, depth, f"is {kind}")
    mapping = dict(container or {})
    mapping[key] = _with_value(mapping.get(key), assignment, depth + 1)
    return mapping


def _no_such_place(assignment: Assignment, depth: int, why: str) -> InvalidInput:
    enclosing = path_text(assignment.path[:depth]) or "the file"
    return InvalidInput.of(
        where=assignment.where, what="no such place", why=f"{enclosing} {why}", fix=f"set {enclosing} as a whole"
    )


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
