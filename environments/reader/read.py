"""From a name or a path to an Environment, or to every problem in the file."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from environments.environment import Environment
from environments.reader.document import load_document
from environments.reader.messages import problem
from environments.reader.schema import EnvironmentFile
from sizing.problem import InvalidInput, Problem

HOME = Path(__file__).resolve().parents[1]


def locate(name_or_path: str) -> Path:
    """Return the file of an environment given by name (`prod`) or by path.

    Raises InvalidInput when there is no such file, naming the nearest environment there is.
    """
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml"} or "/" in name_or_path:
        return path
    environments = {file.stem: file for file in sorted(HOME.glob("*.yaml"))}
    if name_or_path in environments:
        return environments[name_or_path]
    near = get_close_matches(name_or_path, environments, n=1)
    fix = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(environments)}; or give a path"
    raise InvalidInput.of(where=name_or_path, what="environment", why="there is no such environment", fix=fix)


def read_environment(name_or_path: str) -> Environment:
    """Read an environment file. Raises InvalidInput with every problem of the file, each with its line."""
    path = locate(name_or_path)
    document = load_document(path, _quoted(path))
    problems = list(document.problems)
    try:
        file = EnvironmentFile.model_validate(document.values)
    except ValidationError as error:
        problems += [problem(document, EnvironmentFile, details) for details in error.errors(include_url=False)]
    if problems:
        raise InvalidInput(sorted(problems, key=_line))
    return file.build(document)


def _quoted(path: Path) -> str:
    here = Path.cwd()
    full = path.absolute()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(path)


def _line(problem: Problem) -> int:
    return int(problem.where.rpartition(":")[2])
