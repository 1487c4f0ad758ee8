"""From a name or a path to an Environment, or to every problem in the file."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from environments.environment import Environment
from environments.reader.assignment import Assignment, assigned
from environments.reader.document import Document, load_document
from environments.reader.messages import problem
from environments.reader.ranges import RangedDocument, range_error, ranges_in
from environments.reader.schema import EnvironmentFile
from sizing.problem import InvalidInput, Problem

HOME = Path(__file__).resolve().parents[1]


def locate(name_or_path: str) -> Path:
    """Return the file of an environment given by name (`prod`) or by path.

    A name is looked up in the folder `environments` of the current directory, then among those that come with warmbase.
    Raises InvalidInput when there is no such file, naming the nearest environment there is.
    """
    if _is_path(name_or_path):
        return Path(name_or_path)
    environments = _environments()
    if name_or_path in environments:
        return environments[name_or_path]
    near = get_close_matches(name_or_path, environments, n=1)
    fix = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(environments)}; or give a path"
    raise InvalidInput.of(where=name_or_path, what="environment", why="there is no such environment", fix=fix)


def environment_names() -> tuple[str, ...]:
    """Return the name of each file in environments/."""
    return tuple(_environments())


def _environments() -> dict[str, Path]:
    folders = (HOME, Path.cwd() / HOME.name)
    return {file.stem: file for folder in folders for file in sorted(folder.glob("*.yaml"))}


def new_path(name_or_path: str) -> Path:
    """Return the file of a new environment given by name (`prod`) or by path, in the current directory."""
    return Path(name_or_path) if _is_path(name_or_path) else Path.cwd() / HOME.name / f"{name_or_path}.yaml"


def _is_path(name_or_path: str) -> bool:
    return Path(name_or_path).suffix in {".yaml", ".yml"} or "/" in name_or_path


def read_environment(name_or_path: str, assignments: Sequence[Assignment] = ()) -> Environment:
    """Read an environment file, with the values that the assignments set in it.

    Raises InvalidInput with every problem of the file, each with its line or with the assignment that causes it.
    """
    path = locate(name_or_path)
    return environment_of(assigned(load_document(path, quoted_path(path)), assignments))


def read_ranges(name_or_path: str, assignments: Sequence[Assignment] = ()) -> RangedDocument:
    """Return an environment file with the inputs that are ranges. Raises InvalidInput as `read_environment` does."""
    path = locate(name_or_path)
    return ranges_in(assigned(load_document(path, quoted_path(path)), assignments))


def environment_of(document: Document) -> Environment:
    """Return the environment that a document describes. Raises InvalidInput for a range, and as `read_environment`."""
    ranged = ranges_in(document)
    if ranged.ranges:
        raise range_error(ranged.ranges.values())
    document = ranged.document
    problems = list(document.problems)
    try:
        file = EnvironmentFile.model_validate(document.values)
    except ValidationError as error:
        problems += [problem(document, EnvironmentFile, details) for details in error.errors(include_url=False)]
    if problems:
        raise InvalidInput(sorted(problems, key=_line))
    return file.build(document)


def quoted_path(path: Path) -> str:
    """Return the path as messages name it: from the current directory, where the file is below that."""
    here = Path.cwd()
    full = path.absolute()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(path)


def _line(problem: Problem) -> int:
    """Return the line of a problem; one that an option of the command line causes comes first."""
    line = problem.where.rpartition(":")[2]
    return int(line) if line.isdecimal() else 0
