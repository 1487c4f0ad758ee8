"""What can go wrong, as types. Raise the type; only the command line prints.

WarmbaseError               exit  what happened
├── InvalidInput              2   a file or an argument is wrong; carries every Problem found in it
├── Infeasible                3   the answer is no: nothing meets the targets
├── Drifted                   3   the answer is no: what runs is not what was rendered
├── Refused                   3   the answer is no: it would lose or corrupt something
└── OperationFailed           1   a process or a service did not do what was asked
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Drifted", "Infeasible", "InvalidInput", "OperationFailed", "Problem", "Refused", "WarmbaseError"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong: where, what, why, and how to mend it.

    `where` is a file with its line (`environments/prod.yaml:14`) or an argument; `what` names the key or
    property. `why` and `fix` are sentences without a final stop.
    """

    where: str
    what: str
    why: str
    fix: str

    def __str__(self) -> str:
        """Three lines: where and what, why, fix."""
        return f"{self.where}  {self.what}\n  {self.why}\n  fix: {self.fix}"


class WarmbaseError(Exception):
    """Anything that ends a command with a message instead of a result."""

    exit_code = 1


class InvalidInput(WarmbaseError):
    """The input is wrong. Holds all problems of that input, so that one run reports them all."""

    exit_code = 2

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Infeasible(WarmbaseError):
    """No candidate meets the targets; the message names the nearest changes that would."""

    exit_code = 3


class Drifted(WarmbaseError):
    """What a service describes differs from what was rendered; one line per difference."""

    exit_code = 3

    def __init__(self, subject: str, differences: Iterable[str]) -> None:
        self.differences = tuple(differences)
        super().__init__("\n  ".join((f"{subject} differs from what was rendered:", *self.differences)))


class Refused(WarmbaseError):
    """What was asked would lose data, a cache or a cluster, or have two writers; nothing of it was done."""

    exit_code = 3


class OperationFailed(WarmbaseError):
    """A process ended badly or a service refused; what, why and how to go on are in the message."""
