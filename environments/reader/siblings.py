"""Two files over one root: each would deploy a cluster that writes to it."""

from __future__ import annotations

from pathlib import Path

from environments.environment import Environment
from environments.reader.read import read_environment
from sizing.mode import Mode
from sizing.problem import InvalidInput, Problem

__all__ = ["shared_roots"]


def shared_roots(environment: Environment) -> list[Problem]:
    """One problem for each other file of the same directory whose root is this one's, or lies in it, or holds it.

    A faulty file is passed over: nothing deploys it as it is.
    """
    if environment.mode is Mode.HDFS:
        return []
    source = Path(environment.source)
    others = (file for file in sorted(source.parent.glob("*.y*ml")) if not file.samefile(source))
    return [_shared(environment, other) for file in others if (other := _read(file)) and _shares(environment, other)]


def _read(file: Path) -> Environment | None:
    try:
        return read_environment(str(file))
    except InvalidInput:
        return None


def _shares(environment: Environment, other: Environment) -> bool:
    return other.mode is not Mode.HDFS and environment.root.overlaps(other.root)


def _shared(environment: Environment, other: Environment) -> Problem:
    return Problem(
        where=environment.source,
        what="storage.root" if environment.root.existing else "name",
        why=f"its root, {environment.root.url}, and that of {other.source}, {other.root.url}, are one:"
        " each would have a cluster that writes to it, and two writers corrupt it",
        fix="put both clusters into one file, one active and one replica, or give one of them another root",
    )
