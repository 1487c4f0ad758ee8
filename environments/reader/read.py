"""From a name or a path to an Environment, or to every problem in the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from msgspec.structs import replace
from pydantic import ValidationError

from environments.environment import Environment
from environments.reader.assignment import Assignment, assigned
from environments.reader.document import Document, load_document
from environments.reader.messages import UNKNOWN_KEY, problem
from environments.reader.ranges import RangedDocument, range_error, range_keys, ranges_in
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
    return _ranges_of(assigned(load_document(path, quoted_path(path)), assignments))


def middle_environment(ranged: RangedDocument) -> Environment:
    """Return the environment with the middle of each range. Raises InvalidInput as `read_environment` does."""
    keys = {input_range.key for input_range in ranged.ranges.values()}
    try:
        return environment_of(ranged.middle)
    except InvalidInput as error:
        raise InvalidInput(
            replace(problem, why=f"{problem.why} (the middle of the range)") if problem.what in keys else problem
            for problem in error.problems
        ) from None


def environment_of(document: Document) -> Environment:
    """Return the environment that a document describes. Raises InvalidInput for a range, and as `read_environment`."""
    ranged = _ranges_of(document)
    if ranged.ranges:
        raise range_error(ranged.ranges.values())
    document = ranged.document
    return _file(document).build(document)


def _ranges_of(document: Document) -> RangedDocument:
    """Return the document with its ranges. If one is invalid, raises InvalidInput with every problem of the file."""
    try:
        return ranges_in(document)
    except InvalidInput as error:
        keys, problems = range_keys(document), list(error.problems)
    try:
        _file(document)
    except InvalidInput as error:
        # That a range is not a number, for example, is no mistake; that its key does not exist is one.
        problems += [other for other in error.problems if other.why == UNKNOWN_KEY or not _is_within(other.what, keys)]
    raise InvalidInput(sorted(problems, key=_line))


def _is_within(key: str, keys: Iterable[str]) -> bool:
    return any(key == enclosing or key.startswith(f"{enclosing}.") for enclosing in keys)


def _file(document: Document) -> EnvironmentFile:
    """Return the checked values of a document without ranges. Raises InvalidInput with every problem."""
    problems = list(document.problems)
    try:
        file = EnvironmentFile.model_validate(document.values)
    except ValidationError as error:
        problems += [problem(document, EnvironmentFile, details) for details in error.errors(include_url=False)]
    if problems:
        raise InvalidInput(sorted(problems, key=_line))
    return file


def quoted_path(path: Path) -> str:
    """Return the path as messages name it: from the current directory, where the file is below that."""
    here = Path.cwd()
    full = path.absolute()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(path)


def _line(problem: Problem) -> int:
    """Return the line of a problem; one that an option of the command line causes comes first."""
    line = problem.where.rpartition(":")[2]
    return int(line) if line.isdecimal() else 0
