"""A draft as a file that can be planned: checked as if it was written, and written only where no file is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from environments.draft.draft import REQUIRED, Draft
from environments.draft.draft_text import MARK, draft_text, yaml_text
from environments.environment import Environment
from environments.reader.assignment import Assignment, assigned
from environments.reader.conflicts import shared_roots
from environments.reader.document import parse_document, path_text
from environments.reader.read import environment_of, new_path, quoted_path
from facts.whole_file import written_beside
from sizing.problem import InvalidInput, Problem

SCHEMA: Final = "schema.json"
SIZE: Final = re.compile(r"^([0-9._]+)([KMGTP]?i?B)$")
STAND_INS: Final[Mapping[str, object]] = dict(zip(REQUIRED, ("1 TiB", 1, "1 KiB", "us-east-1"), strict=True))
"""Values for required keys while a person has not answered yet, so that the other answers can be checked."""


class DraftFile(Struct, frozen=True, kw_only=True):
    """The text of a new environment file and the environment that it describes."""

    path: Path
    text: str
    environment: Environment

    @property
    def source(self) -> str:
        """Return the path as messages name it."""
        return self.environment.source

    @property
    def assumed(self) -> int:
        """Return how many values nobody stated."""
        return self.text.count(f"# {MARK}")

    def write(self) -> None:
        """Write the whole file, or nothing. Raises InvalidInput where a file exists."""
        self.path.parent.mkdir(exist_ok=True)
        with written_beside(self.path, self.text.encode()) as new:
            try:
                os.link(new, self.path)
            except FileExistsError:
                raise already_there(self.path) from None


def draft_file(path: Path, assignments: Sequence[Assignment], remarks: Mapping[str, str]) -> DraftFile:
    """Return the file that states these values and assumes all others.

    Raises InvalidInput for each value that is refused, and for a file or a root that another environment has.
    """
    if os.path.lexists(path):
        raise already_there(path)
    if not path.parent.is_dir() and path != new_path(path.stem):
        why = f"there is no directory {path.parent}"
        raise InvalidInput.of(where=str(path), what="cannot be written", why=why, fix="create it, or give a name")
    source = quoted_path(path)
    name = Assignment.at(("name",), yaml_text(path.stem), "NAME")
    text = draft_text(_draft(path.stem, assignments, remarks), _schema(path))
    environment = _environment(text, (name, *assignments), source)
    problems = shared_roots(environment)
    if problems:
        raise InvalidInput(problems)
    return DraftFile(path=path, text=text, environment=environment)


def refusals(assignments: Sequence[Assignment], where: str) -> tuple[Problem, ...]:
    """Return what is wrong with the values that have this place, while others are not yet known."""
    known = _draft("draft", assignments, {})
    draft = replace(known, values={**STAND_INS, **known.values})
    try:
        _environment(draft_text(draft), assignments, "draft")
    except InvalidInput as error:
        return tuple(problem for problem in error.problems if problem.where == where)
    return ()


def already_there(path: Path) -> InvalidInput:
    """Return the error of a path at which there is something already."""
    return InvalidInput.of(
        where=quoted_path(path),
        what="exists already",
        why="warmbase does not overwrite an environment file",
        fix=f"edit it, run `warmbase plan {path.stem}`, or choose another name",
    )


def _draft(name: str, assignments: Sequence[Assignment], remarks: Mapping[str, str]) -> Draft:
    values = {path_text(assignment.path): _spaced(assignment.value.values) for assignment in assignments}
    return Draft(name=name, values=values, remarks=remarks)


def _spaced(value: object) -> object:
    """Return a value as this project writes it: a size with a space before its unit."""
    return SIZE.sub(r"\1 \2", value) if isinstance(value, str) else value


def _environment(text: str, assignments: Sequence[Assignment], source: str) -> Environment:
    """Return the environment of a text. Problems of assumptions are left out where a stated value causes them."""
    document = assigned(parse_document(text.encode(), source, Path(source).parent), assignments)
    try:
        return environment_of(document)
    except InvalidInput as error:
        places = {assignment.where for assignment in assignments}
        raise InvalidInput(
            [problem for problem in error.problems if problem.where in places] or error.problems
        ) from None


def _schema(path: Path) -> str | None:
    return SCHEMA if (path.parent / SCHEMA).exists() else None
