"""The problems of a file, and what else its reader collects beside the settings."""

from __future__ import annotations

from msgspec import Struct, field

from emr.classification import ClassificationPath
from emr.cluster_spec import Setting
from lint.reader.source_text import SourceSpan, quoted
from sizing.problem import InvalidInput, Problem


class ReadProblems(Struct, frozen=True, kw_only=True):
    """Collects problems, the classifications that a file names, and settings that it states twice."""

    problems: list[Problem] = field(default_factory=list)
    classifications: dict[ClassificationPath, int | None] = field(default_factory=dict)
    twice: list[Setting] = field(default_factory=list)

    def add(self, place: SourceSpan, what: str, why: str, fix: str) -> None:
        """Add a problem, after which the reading continues."""
        what = what if what.isprintable() and what else quoted(what)
        self.problems.append(Problem(where=str(place), what=what, why=why, fix=fix))

    def refuse(self) -> None:
        """Raise InvalidInput with all problems, ordered by line, if there are any."""
        if self.problems:
            raise InvalidInput(sorted(self.problems, key=_file_and_line))


def _file_and_line(problem: Problem) -> tuple[str, int]:
    source, _, line = problem.where.rpartition(":")
    return source, int(line) if line.isascii() and line.isdecimal() else 0
