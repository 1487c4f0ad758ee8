"""From a name or a path to an `Environment`, or to every problem in the file.

Two files with one name are refused, because they would deploy the same stacks; so are two over one root, to which two
clusters would write. `environment_at` reads a file as it was at a git revision, with the files that it names as they
were then.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from copy import deepcopy
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import get_args

from msgspec.structs import replace
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from warmbase.environments.environment import Environment
from warmbase.environments.reader.assignment import Assignment, assigned
from warmbase.environments.reader.document import Document, YamlPath, load_document, parse_document, path_text
from warmbase.environments.reader.messages import UNKNOWN_KEY, place_of, problem
from warmbase.environments.reader.ranges import RangedDocument, range_error, range_keys, ranges_in
from warmbase.environments.reader.schema import EnvironmentFile
from warmbase.environments.reader.section import Section, refusals
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.files import EXAMPLES

HOME = "environments"


def locate(name_or_path: str) -> Path:
    """Return the file of an environment given by name (`prod`) or by path.

    A name is looked up in the folder `environments` of the current directory, then among those that come with warmbase.
    Raises InvalidInput when there is no such file, naming the nearest environment there is.
    """
    if _is_path(name_or_path):
        return Path(name_or_path)
    files = environment_files()
    if name_or_path in files:
        return files[name_or_path]
    near = get_close_matches(name_or_path, files, n=1)
    fix = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(files)}; or give a path"
    raise InvalidInput.of(where=name_or_path, what="environment", why="there is no such environment", fix=fix)


def environment_files() -> dict[str, Path]:
    """Return the file of each environment that has a name, the user's own in place of one that comes with warmbase."""
    folders = (EXAMPLES, Path.cwd() / HOME)
    return {file.stem: file for folder in folders for file in sorted(folder.glob("*.yaml"))}


def new_path(name_or_path: str) -> Path:
    """Return the file of a new environment given by name (`prod`) or by path, in the current directory."""
    return Path(name_or_path) if _is_path(name_or_path) else Path.cwd() / HOME / f"{name_or_path}.yaml"


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
    return _file(ranged.document).build(ranged.document)


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
        problems += [
            other
            for other in error.problems
            if other.why == UNKNOWN_KEY or not any(f"{other.what}.".startswith(f"{key}.") for key in keys)
        ]
    raise InvalidInput(sorted(problems, key=_line))


def _file(document: Document) -> EnvironmentFile:
    """Return the checked values of a document without ranges. Raises InvalidInput with every problem."""
    problems, file = list(document.problems), None
    try:
        file = EnvironmentFile.model_validate(document.values)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        problems += [problem(document, EnvironmentFile, details) for details in errors]
        file = _right_part(document.values, errors)
    for refusal in refusals(file):
        where, what = document.where(refusal.at), path_text(refusal.at) or "file"
        problems.append(Problem(where=where, what=what, why=refusal.why, fix=refusal.fix))
    if problems or file is None:
        raise InvalidInput(sorted(problems, key=_line))
    return file


def _right_part(document_values: object, errors: Iterable[ErrorDetails]) -> EnvironmentFile | None:
    """Return a file without the fields that are wrong, so that rules can check the others; None if no part is right.

    The defaults or examples of their keys stand in for wrong values while the other values are read.
    """
    values = deepcopy(document_values)
    faults = dict[YamlPath, bool]()  # each key, and whether the file has a value for it
    places = ((place_of(EnvironmentFile, details["loc"]), details["type"]) for details in errors)
    for place, kind in sorted(places, key=lambda fault: len(fault[0].path)):
        section = _value_at(values, place.path[:-1])
        if not isinstance(section, dict) or not place.path or place.path in faults:
            continue
        value = section.pop(place.path[-1], None)
        if place.field is not None and kind != "extra_forbidden":
            faults[place.path] = value is not None
            if place.field.is_required():
                section[place.key] = deepcopy((place.field.examples or get_args(place.field.annotation))[0])
    try:
        file = EnvironmentFile.model_validate(values)
    except ValidationError:
        return None
    for path, has_value in faults.items():
        section = _value_at(file, path[:-1])
        if isinstance(section, Section):
            vars(section).pop(str(path[-1]), None)
            (section.model_fields_set.add if has_value else section.model_fields_set.discard)(str(path[-1]))
    return file


def _value_at(values: object, path: YamlPath) -> object:
    """Return the value at a path in the values of a file, as YAML holds them or as sections."""
    for step in path:
        values = vars(values) if isinstance(values, Section) else values
        if isinstance(values, list) and isinstance(step, int):
            values = values[step]
        else:
            values = values.get(step) if isinstance(values, dict) else None
    return values


def quoted_path(path: Path) -> str:
    """Return the path as messages name it: from the current directory, where the file is below that."""
    here = Path.cwd()
    full = path.absolute()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(path)


def _line(problem: Problem) -> int:
    """Return the line of a problem; one that an option of the command line causes comes first."""
    line = problem.where.rpartition(":")[2]
    return int(line) if line.isdecimal() else 0


def shared_roots(environment: Environment) -> list[Problem]:
    """One problem for each other file of the same directory whose name, or whose root, is this one's.

    Or whose root lies in it, or holds it. A faulty file is passed over: nothing deploys it as it is. The environment's
    own file need not exist yet.
    """
    source = Path(environment.source)
    names, roots = list[Problem](), list[Problem]()
    written = source.exists()
    for file in sorted(source.parent.glob("*.y*ml")):
        if not file.is_file() or (written and file.samefile(source)):
            continue
        try:
            other = read_environment(str(file))
        except InvalidInput:
            continue
        apart = environment.account and other.account and environment.account != other.account
        if (environment.name, environment.region) == (other.name, other.region) and not apart:
            why = f"{other.source} has the same name, {other.name}, in the same region: both would be the same stacks,"
            why += " and each deployment would replace what the other has made"
            fix = "give one of them another name"
            names.append(Problem(where=environment.source, what="name", why=why, fix=fix))
        elif (
            environment.mode.keeps_data_in_s3 and other.mode.keeps_data_in_s3 and environment.root.overlaps(other.root)
        ):
            roots.append(
                Problem(
                    where=environment.source,
                    what="storage.root" if environment.root.existing else "name",
                    why=f"its root, {environment.root.url}, and that of {other.source}, {other.root.url}, are one:"
                    " each would have a cluster that writes to it, and two writers corrupt it",
                    fix="put both clusters into one file, one active and one replica, or give one of them another root",
                )
            )
    return [*names, *roots]


def is_revision(file: Path, revision: str) -> bool:
    """Return whether the checkout that holds the file, if there is one, knows the revision."""
    return bool(shutil.which("git")) and _commit(file.resolve(), revision) is not None


def environment_at(file: Path, revision: str) -> Environment:
    """Return the environment that the file described at that revision.

    Raises InvalidInput where git, the checkout, the revision or the file at that revision is missing, and as
    `read_environment` for a file that was faulty at the time.
    """
    file, where = file.resolve(), f"--against {revision}"
    if not shutil.which("git"):
        why = "git is not installed, and there is no file of that name"
        raise InvalidInput.of(where=where, what="needs git", why=why, fix="compare with a file")
    top = _git(file, "rev-parse", "--show-prefix")
    if top.returncode:
        answer = top.stderr.decode(errors="replace").strip().splitlines() or ["git does not say why"]
        raise InvalidInput.of(
            where=where,
            what="no such file, and no git checkout",
            why=f"{file.parent} is not in a git checkout, or git refuses to read it: {answer[0]}",
            fix="compare with a file: --against FILE",
        )
    # The path of the file's directory is relative to the top of its checkout.
    prefix = PurePosixPath(top.stdout.decode(errors="replace").strip())
    commit = _commit(file, revision)
    if commit is None:
        raise InvalidInput.of(
            where=where,
            what="no such file and no such git revision",
            why=f"the checkout that holds {file.name} has no branch, tag or commit of that name",
            fix=f"list its commits: git log --oneline -- {file.name}; a shallow clone has no others until you run git"
            " fetch --unshallow",
        )
    shown = _git(file, "show", f"{commit}:./{file.name}")
    if shown.returncode:
        raise InvalidInput.of(
            where=where,
            what=f"has no file {prefix / file.name}",
            why="the file did not exist at that revision, or had another name",
            fix=f"show the plan alone: warmbase plan {shlex.quote(file.stem)}",
        )
    document = parse_document(shown.stdout, f"{revision}:{prefix / file.name}", Path())
    with tempfile.TemporaryDirectory(prefix="warmbase-") as checkout:
        directory = Path(checkout, prefix)
        directory.mkdir(parents=True, exist_ok=True)
        # The workload may name two more files of the checkout: an inspection and a popularity curve.
        for path in (("workload", "inspection"), ("workload", "popularity", "curve")):
            name = _value_at(document.values, path)
            if not name or not isinstance(name, str) or normpath(prefix / name).startswith(("..", "/")):
                continue
            shown = _git(file, "show", f"{commit}:./{name}")
            if not shown.returncode:
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (directory / name).write_bytes(shown.stdout)
        return environment_of(replace(document, directory=directory))


def _commit(file: Path, revision: str) -> str | None:
    # No option of git ends in ^{commit}, so a revision is never taken for one.
    result = _git(file, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    return None if result.returncode else result.stdout.decode().strip()


def _git(file: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [shutil.which("git") or "git", "-C", str(file.parent), *arguments]
    return subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
