"""The errors that end a command, as types. Raise the type; only the command line and warmbase/app.py print.

WarmbaseError               exit  what happened
├── InvalidInput              2   a file or an argument is wrong; carries every Problem found in it
├── Infeasible                3   the answer is no: nothing meets the targets
├── Drifted                   3   the answer is no: what runs is not what was rendered
├── Refused                   3   the answer is no: it would lose or corrupt something
└── OperationFailed           1   a process or a service did not do what it was told to
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

from msgspec import Struct
from msgspec.structs import asdict

__all__ = [
    "Drifted",
    "Infeasible",
    "InvalidInput",
    "OperationFailed",
    "Problem",
    "Refused",
    "WarmbaseError",
    "fix_line",
]


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that is wrong: where, what, why, and how to mend it.

    `where` is a file with its line (`environments/prod.yaml:14`), an argument, or the resource or command that
    failed; `what` names the key or property, or says what happened. `why` and `fix` are sentences without a final
    stop; `why` may have several lines, and is empty where `what` says it all.
    """

    where: str
    what: str
    why: str
    fix: str

    def __str__(self) -> str:
        """Return three lines: where and what, why, fix."""
        return "\n".join((f"{self.where}  {self.what}", *_indented(self.why), *_indented(fix_line(self.fix))))


def fix_line(fix: str) -> str:
    """Return the line that tells a reader how to mend something."""
    return f"fix: {fix}"


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in text.splitlines() if line)


class WarmbaseError(Exception):
    """Anything that ends a command with a message instead of a result: one Problem or several."""

    exit_code: ClassVar = 1
    kind: ClassVar = "failed"

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def of(cls, *, where: str, what: str, why: str, fix: str) -> Self:
        """Return the error of one problem; the fields are those of Problem."""
        return cls(Problem(where=where, what=what, why=why, fix=fix))

    @property
    def summary(self) -> str:
        """Say in one line where the first problem is and what it is."""
        return f"{self.problems[0].where}  {self.problems[0].what}"

    def document(self) -> dict[str, Any]:
        """Return the error as JSON has it."""
        problems = [asdict(problem) for problem in self.problems]
        notes: Any = {"notes": list(self.__notes__)} if hasattr(self, "__notes__") else {}
        return {"error": {"kind": self.kind, "exit_code": self.exit_code, "problems": problems, **notes}}


class InvalidInput(WarmbaseError):
    """The input is wrong. Holds all problems of that input, so that one run reports them all."""

    exit_code = 2
    kind = "invalid_input"


class Infeasible(WarmbaseError):
    """No candidate meets the targets; the fix names the nearest changes that would."""

    exit_code = 3
    kind = "infeasible"


class Drifted(WarmbaseError):
    """Something that runs differs from what was rendered or recorded; one Problem per difference, all with one fix."""

    exit_code = 3
    kind = "drifted"

    def __init__(self, subject: str, differences: Iterable[str], *, why: str, fix: str) -> None:
        self.differences = tuple(differences)
        super().__init__(Problem(where=subject, what=line, why=why, fix=fix) for line in self.differences)
        self._lines = (f"{subject} {why}:", *self.differences, fix_line(fix))

    def __str__(self) -> str:
        """Return the subject, each difference on a line, and the fix once."""
        return "\n  ".join(self._lines)


class Refused(WarmbaseError):
    """The operation would lose data, a cache or a cluster, or allow two writers, so nothing was done."""

    exit_code = 3
    kind = "refused"


class OperationFailed(WarmbaseError):
    """A process ended badly or a service refused; the fix says how to go on."""

    exit_code = 1
    kind = "operation_failed"
