"""An environment file as it was at a git revision, with the files that it names as they were then."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath

from msgspec.structs import replace

from environments.environment import Environment
from environments.reader.document import Document, parse_document
from environments.reader.read import environment_of
from environments.reader.section import RawSection
from sizing.problem import InvalidInput


def is_revision(file: Path, revision: str) -> bool:
    """Return whether the checkout that holds the file, if there is one, knows the revision."""
    return bool(shutil.which("git")) and _commit(file.resolve(), revision) is not None


def environment_at(file: Path, revision: str) -> Environment:
    """Return the environment that the file described at that revision.

    Raises InvalidInput where git, the checkout, the revision or the file at that revision is missing, and as
    `read_environment` for a file that was faulty at the time.
    """
    file = file.resolve()
    prefix = _prefix(file, revision)
    commit = _commit(file, revision)
    if commit is None:
        raise _refused(
            revision,
            "no such file and no such git revision",
            f"the checkout that holds {file.name} has no branch, tag or commit of that name",
            f"list its commits: git log --oneline -- {file.name}; a shallow clone has no others until you run git fetch"
            " --unshallow",
        )
    content = _content(file, commit, file.name)
    if content is None:
        raise _refused(
            revision,
            f"has no file {prefix / file.name}",
            "the file did not exist at that revision, or had another name",
            f"show the plan alone: warmbase plan {file.stem}",
        )
    document = parse_document(content, f"{revision}:{prefix / file.name}", Path())
    with tempfile.TemporaryDirectory(prefix="warmbase-") as checkout:
        directory = Path(checkout, prefix)
        directory.mkdir(parents=True, exist_ok=True)
        for name in _inside(_named_files(document), prefix):
            _write(directory / name, _content(file, commit, name))
        return environment_of(replace(document, directory=directory))


def _prefix(file: Path, revision: str) -> PurePosixPath:
    """Return the file's directory, from the top of its checkout. Raises InvalidInput without git or checkout."""
    if not shutil.which("git"):
        raise _refused(
            revision, "needs git", "git is not installed, and there is no file of that name", "compare with a file"
        )
    result = _git(file, "rev-parse", "--show-prefix")
    if result.returncode:
        lines = result.stderr.decode(errors="replace").strip().splitlines() or ["git does not say why"]
        raise _refused(
            revision,
            "no such file, and no git checkout",
            f"{file.parent} is not in a git checkout, or git refuses to read it: {lines[0]}",
            "compare with a file: --against FILE",
        )
    return PurePosixPath(result.stdout.decode(errors="replace").strip())


def _commit(file: Path, revision: str) -> str | None:
    # No option of git ends in ^{commit}, so a revision is never taken for one.
    result = _git(file, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    return None if result.returncode else result.stdout.decode().strip()


def _content(file: Path, commit: str, name: str) -> bytes | None:
    """Return the content of a file at a commit, named from the environment's directory; None where it has none."""
    result = _git(file, "show", f"{commit}:./{name}")
    return None if result.returncode else result.stdout


def _git(file: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [shutil.which("git") or "git", "-C", str(file.parent), *arguments]
    return subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)


def _named_files(document: Document) -> Iterator[str]:
    """Yield the files that the workload names: an inspection, and a popularity curve."""
    workload = (RawSection.of(document.values) or RawSection({})).section("workload")
    for section, key in ((workload, "inspection"), (workload.section("popularity"), "curve")):
        name = section.text(key)
        if name:
            yield name


def _inside(names: Iterator[str], prefix: PurePosixPath) -> Iterator[str]:
    """Yield the names that stay in the checkout."""
    return (name for name in names if not normpath(prefix / name).startswith(("..", "/")))


def _write(path: Path, content: bytes | None) -> None:
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _refused(revision: str, what: str, why: str, fix: str) -> InvalidInput:
    return InvalidInput.of(where=f"--against {revision}", what=what, why=why, fix=fix)
