"""What the reading of a file gathers beside its settings: problems, repeats, the classifications it names."""

from __future__ import annotations

from dataclasses import dataclass, field

from emr.classification import ClassificationPath
from emr.cluster_spec import Setting
from lint.reader.source_text import SourceSpan, quoted
from sizing.problem import InvalidInput, Problem

__all__ = ["ReadProblems"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadProblems:
    """Grows while a file is read."""

    problems: list[Problem] = field(default_factory=list)
    classifications: dict[ClassificationPath, int | None] = field(default_factory=dict)
    twice: list[Setting] = field(default_factory=list)

    def wrong(self, place: SourceSpan, what: str, why: str, fix: str) -> None:
        """Notes a problem; the reading goes on."""
        what = what if what.isprintable() and what else quoted(what)
        self.problems.append(Problem(where=str(place), what=what, why=why, fix=fix))

    def refuse_problems(self) -> None:
        """Raises InvalidInput with all problems, in the order of their lines."""
        if self.problems:
            raise InvalidInput(sorted(self.problems, key=_file_and_line))


def _file_and_line(found: Problem) -> tuple[str, int]:
    source, _, line = found.where.rpartition(":")
    return source, int(line) if line.isascii() and line.isdecimal() else 0
