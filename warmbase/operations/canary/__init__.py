"""The canary: the first hour on a real account, in stages that each save their answers before the next begins.

It deploys a small environment of its own, so nothing of the environment that you name is changed. Schedules that end
its clusters exist before the first node. A run that was interrupted continues where it stopped.

Each row of docs/unconfirmed.md gets a verdict: confirmed, refuted with what was seen, or not reached.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from warmbase.ground.errors import InvalidInput, WarmbaseError
from warmbase.operations.canary.exercise import exercise
from warmbase.operations.canary.free_calls import free_calls
from warmbase.operations.canary.launch import inspect_cluster, launch_cluster, refusal
from warmbase.operations.canary.leftovers import leave_nothing
from warmbase.operations.canary.run import (
    LAST_STAGE,
    LAUNCH,
    REFUSAL,
    Canary,
    StageAnswer,
    StageOutcome,
    is_interruption,
)
from warmbase.operations.verify.check import HARMS, CheckResult, Statement, read_statements


class CanaryStage(Struct, frozen=True, kw_only=True):
    """One stage; `act` returns its outcome, or raises a WarmbaseError, which is then its failure."""

    title: str
    act: Callable[[Canary], StageOutcome]


STAGES: Final[Mapping[int, CanaryStage]] = {
    0: CanaryStage(title="free calls", act=free_calls),
    LAUNCH: CanaryStage(title="launch", act=launch_cluster),
    2: CanaryStage(title="look", act=inspect_cluster),
    3: CanaryStage(title="exercise", act=exercise),
    REFUSAL: CanaryStage(title="refusal", act=refusal),
    LAST_STAGE: CanaryStage(title="leave nothing", act=leave_nothing),
}


def stage_numbers(text: str) -> tuple[int, ...]:
    """Return the stages that a text such as `0-2` or `0,5` names, in order. Raises InvalidInput for another text."""
    numbers: set[int] = set()
    ranges = [re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip()) for part in text.split(",")]
    for one in ranges:
        if one is not None:
            numbers.update(range(int(one[1]), int(one[2] or one[1]) + 1))
    if None in ranges or not numbers or max(numbers) > LAST_STAGE:
        raise InvalidInput.of(
            where="--stages",
            what=repr(text),
            why=f"the stages are {min(STAGES)} to {LAST_STAGE}",
            fix="write a range such as 0-2, or a list such as 0,1,5",
        )
    return tuple(sorted(numbers))


def stage_answers(canary: Canary, numbers: Sequence[int]) -> Iterator[StageAnswer]:
    """Yield the answer of each stage, saved. A stage that was answered before is not repeated unless it failed.

    A stage may fail alone: its failure is an answer. Only a launch that failed ends the run, so that you can look why.
    Raises the error of an interruption, such as expired credentials, after which the same command continues.
    """
    for number in numbers:
        answer = canary.run.answer(number)
        if answer is None or answer.failure:
            began, outcome, failure = time.monotonic(), StageOutcome(), ""
            try:
                outcome = STAGES[number].act(canary)
            except WarmbaseError as error:
                if is_interruption(error):
                    raise
                failure = str(error)
            answer = StageAnswer(
                stage=number,
                seconds=time.monotonic() - began,
                failure=failure,
                lines=outcome.lines,
                results=outcome.results,
            )
            canary.run.save(answer)
        yield answer
        if number == LAUNCH and answer.failure:
            return


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
    rows = []
    for statement in read_statements():
        ours = [result for result in latest.values() if statement.what.startswith(result.row)]
        bad = [result for result in ours if result.good is False]
        verdict = REFUTED if bad else CONFIRMED if ours else OPEN
        observation = "; ".join(f"{result.check}: {result.found}" for result in bad or ours) or statement.check
        rows.append(Verdict(statement=statement, verdict=verdict, observation=observation))
    return tuple(sorted(rows, key=lambda one: (HARMS.index(one.statement.harm), ORDER.index(one.verdict))))
