"""Two files with one name, which would deploy the same stacks, or over one root, to which two clusters would write."""

from __future__ import annotations

from pathlib import Path

from environments.environment import Environment
from environments.reader.read import read_environment
from sizing.problem import InvalidInput, Problem


def shared_roots(environment: Environment) -> list[Problem]:
    """One problem for each other file of the same directory whose name, or whose root, is this one's.

    Or whose root lies in it, or holds it. A faulty file is passed over: nothing deploys it as it is. The environment's
    own file need not exist yet.
    """
    source = Path(environment.source)
    written = source.exists()
    files = (
        file
        for file in sorted(source.parent.glob("*.y*ml"))
        if file.is_file() and not (written and file.samefile(source))
    )
    others = [other for file in files if (other := _read(file))]
    return [
        *(_one_name(environment, other) for other in others if _are_one(environment, other)),
        *(_shared(environment, other) for other in others if _shares(environment, other)),
    ]


def _are_one(environment: Environment, other: Environment) -> bool:
    """Return whether their stacks have the same names in the same place."""
    apart = environment.account and other.account and environment.account != other.account
    return (environment.name, environment.region) == (other.name, other.region) and not apart


def _one_name(environment: Environment, other: Environment) -> Problem:
    return Problem(
        where=environment.source,
        what="name",
        why=f"{other.source} has the same name, {other.name}, in the same region: both would be the same stacks, and"
        " each deployment would replace what the other has made",
        fix="give one of them another name",
    )


def _read(file: Path) -> Environment | None:
    try:
        return read_environment(str(file))
    except InvalidInput:
        return None


def _shares(environment: Environment, other: Environment) -> bool:
    if not (environment.mode.keeps_data_in_s3 and other.mode.keeps_data_in_s3) or _are_one(environment, other):
        return False
    return environment.root.overlaps(other.root)


def _shared(environment: Environment, other: Environment) -> Problem:
    return Problem(
        where=environment.source,
        what="storage.root" if environment.root.existing else "name",
        why=f"its root, {environment.root.url}, and that of {other.source}, {other.root.url}, are one:"
        " each would have a cluster that writes to it, and two writers corrupt it",
        fix="put both clusters into one file, one active and one replica, or give one of them another root",
    )
