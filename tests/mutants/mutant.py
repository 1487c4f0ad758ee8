"""A mutation of one line of the code, and the lists of them beside this file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

__all__ = ["Mutant", "read_mutants"]

PROJECT = Path(__file__).parents[2]


class Mutant(Struct, frozen=True, kw_only=True):
    """One fault that somebody could make, and the tests that have to notice it."""

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, project: Path) -> str:
        """Return the text of the file with the fault in it. Raises ValueError where the old text is not there once."""
        text = (project / self.file).read_text(encoding="utf-8")
        if (times := text.count(self.old)) != 1:
            raise ValueError(f"{self.id}: {self.file} has this text {times} times: {self.old!r}")
        return text.replace(self.old, self.new)


def read_mutants(directory: Path = Path(__file__).parent) -> Iterator[Mutant]:
    """Return the mutants of every list, in the order of the lists' names."""
    for file in sorted(directory.glob("*.toml")):
        for entry in tomllib.loads(file.read_text(encoding="utf-8"))["mutant"]:
            yield Mutant(**{**entry, "tests": tuple(entry["tests"])})
