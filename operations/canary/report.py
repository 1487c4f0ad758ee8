"""The verdict of a run on each row of docs/unconfirmed.md: confirmed, refuted with what was seen, or not reached."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from operations.canary.run import StageAnswer
from operations.unconfirmed import HARMS, Statement, read_statements
from operations.verification.check import CheckResult

CONFIRMED: Final = "confirmed"
REFUTED: Final = "refuted"
OPEN: Final = "not reached"
ORDER: Final = (REFUTED, OPEN, CONFIRMED)


class Verdict(Struct, frozen=True, kw_only=True):
    """A row, the verdict on it, and what was seen; for a row that was not reached, how to check it."""

    statement: Statement
    verdict: str
    observation: str


def verdicts(answers: Iterable[StageAnswer]) -> tuple[Verdict, ...]:
    """Return a verdict on each row, the most harmful first.

    A later result of a check takes the place of an earlier one, unless it is unknown. One check that fails refutes the
    row, whatever others say.
    """
    latest: dict[tuple[str, str], CheckResult] = {}
    for answer in answers:
        for result in answer.results:
            if result.row and result.good is not None:
                latest[result.row, result.check] = result
    rows = [_verdict(statement, latest.values()) for statement in read_statements()]
    return tuple(sorted(rows, key=lambda one: (HARMS.index(one.statement.harm), ORDER.index(one.verdict))))


def _verdict(statement: Statement, results: Iterable[CheckResult]) -> Verdict:
    ours = [result for result in results if statement.what.startswith(result.row)]
    bad = [result for result in ours if result.good is False]
    if not ours:
        return Verdict(statement=statement, verdict=OPEN, observation=statement.check)
    observation = "; ".join(f"{result.check}: {result.found}" for result in bad or ours)
    return Verdict(statement=statement, verdict=REFUTED if bad else CONFIRMED, observation=observation)
