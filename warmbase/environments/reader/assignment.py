"""Values that the command line sets in an environment file before it is checked: `--set workload.stored=14TiB`.

`edited_text` writes the same changes into the text of the file, which `warmbase explore` offers to copy or save.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
        # Split a path such as `clusters.blue.core.volumes[0].size` into parts; free keys of a section stay one part.
        matches = list(PART.finditer(written.strip()))
        path: YamlPath = tuple(match[1] or int(match[2]) for match in matches)
        free = FREE_KEYS.get(str(path[0]), len(path)) if path else 0
        if path[free:]:
            path = (*path[:free], path_text(path[free:]))
        if not equals or not path or "".join(match.group() for match in matches) != written.strip():
            raise InvalidInput.of(
                where=f"{OPTION} {text}",
                what="is not PATH=VALUE",
                why=f"the path {written!r} is not a series of keys with dots between them"
                if equals
                else "there is no equals sign",
                fix=f"write it like {EXAMPLE}",
            )
        document = _value(value, f"{OPTION} {path_text(path)}")
        if len(path) > free and () in document.written:
            document = replace(document, values=document.written[()])
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
        path, value = assignment.path, assignment.value
        if path[: len(TABLES)] == TABLES:
            # The name of a table, which HBase allows to have dots, is one part.
            rest = path_text(path[len(TABLES) :])
            tables = (str(entry[-1]) for entry in document.lines if entry[:-1] == TABLES)
            named = max((name for name in tables if rest.startswith(f"{name}.")), key=len, default="")
            if "." in named and named not in path:
                path = (*TABLES, named, *path[len(TABLES) + named.count(".") + 1 :])
        known = document.lines.keys() | document.assigned.keys()
        for section in (TABLES, CLUSTERS):
            # The name of a table or a cluster may be misspelled: find a similar name that is in the file.
            enclosing = path[: len(section) + 1]
            if enclosing[:-1] != section or len(path) == len(enclosing) or enclosing in known:
                continue
            names = [str(entry[-1]) for entry in document.lines if entry[:-1] == section]
            if near := get_close_matches(str(enclosing[-1]), names, n=1):
                added = f"To add {str(enclosing[-1])!r}, set {path_text(enclosing)} as a whole"
                raise InvalidInput.of(
                    where=assignment.where,
                    what="no such place",
                    why=f"the file has no {path_text(enclosing)}",
                    fix=f"did you mean {near[0]!r}? {added}",
                )
        created = [path[:end] for end in range(1, len(path)) if path[:end] not in known]
        inside = [(*path, *entry) for entry in value.lines]
        document = replace(
            document,
            values=_with_value(document.values, replace(assignment, path=path), 0),
            lines={entry: line for entry, line in document.lines.items() if entry[: len(path)] != path},
            written={entry: text for entry, text in document.written.items() if entry[: len(path)] != path}
            | {(*path, *entry): text for entry, text in value.written.items()},
            problems=(*document.problems, *value.problems),
            assigned={entry: where for entry, where in document.assigned.items() if entry[: len(path)] != path}
            | dict.fromkeys((*created, path, *inside), assignment.where),
        )
    return document


def _with_value(container: object, assignment: Assignment, depth: int) -> object:
    """Return a copy of what is at that depth of the path, with the value in it; an alias elsewhere stays as it is."""
    if depth == len(assignment.path):
        return assignment.value.values
    key, why = assignment.path[depth], ""
    if isinstance(key, int):
        if isinstance(container, list) and key < len(container):
            entries = list(container)
            entries[key] = _with_value(entries[key], assignment, depth + 1)
            return entries
        why = f"is not a list with an entry [{key}]"
    elif isinstance(container, list):
        why = "is a list; name its entry by number, such as [0]"
    elif container is not None and not isinstance(container, dict):
        why = "is a value without keys"
    if why:
        enclosing = path_text(assignment.path[:depth]) or "the file"
        raise InvalidInput.of(
            where=assignment.where, what="no such place", why=f"{enclosing} {why}", fix=f"set {enclosing} as a whole"
        )
    mapping = dict(container) if isinstance(container, dict) else {}
    mapping[key] = _with_value(mapping.get(key), assignment, depth + 1)
    return mapping


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
    lines = text.splitlines(keepends=True)
    for assignment in wanted:
        path, line = assignment.path, document.lines.get(assignment.path, 0)
        if not line or path not in document.written:
            continue
        key, old = re.escape(str(path[-1])), re.escape(document.written[path])
        found = re.search(rf"""\b{key}:\s*(["']?{old}["']?)""", lines[line - 1])
        if found:
            lines[line - 1] = lines[line - 1][: found.start(1)] + assignment.text + lines[line - 1][found.end(1) :]
        if all(path[: len(entry)] == entry for entry, other in document.lines.items() if other == line):
            start = comment_start(lines, line)
            lines[start:line] = [ASSUMED.sub(EARLIER, comment) for comment in lines[start:line]]
    edited = "".join(lines)
    try:
        written = _without_nulls(parse_document(edited.encode(), "", Path()).values)
    except InvalidInput:
        written = None
    if repr(written) == repr(values):  # To Python, `true`, 1 and 1.0 are equal.
        return edited
    return yaml.safe_dump(values, sort_keys=False, default_flow_style=None, allow_unicode=True, width=WIDTH)


def _without_nulls(value: object) -> object:
    """Return a value without the keys that are null."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value
