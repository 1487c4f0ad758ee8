"""The canary: the first hour on a real account, in stages that each save their answers before the next begins.

It deploys a small environment of its own, so nothing of the environment that you name is changed. Schedules that end
its clusters exist before the first node. A run that was interrupted continues where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from operations.canary.exercise import exercise
from operations.canary.free_calls import free_calls
from operations.canary.launch import inspect_cluster, launch_cluster
from operations.canary.leftovers import leave_nothing
from operations.canary.refusal import refusal
from operations.canary.run import Canary, StageAnswer, StageOutcome, is_interruption
from sizing.problem import InvalidInput, WarmbaseError

__all__ = ["STAGES", "CanaryStage", "stage_answers", "stage_numbers"]


class CanaryStage(Struct, frozen=True, kw_only=True):
    """One stage; `act` returns its outcome, or raises a WarmbaseError, which is then its failure."""

    title: str
    act: Callable[[Canary], StageOutcome]


LAUNCH: Final = 1
STAGES: Final[Mapping[int, CanaryStage]] = {
    0: CanaryStage(title="free calls", act=free_calls),
    LAUNCH: CanaryStage(title="launch", act=launch_cluster),
    2: CanaryStage(title="look", act=inspect_cluster),
    3: CanaryStage(title="exercise", act=exercise),
    4: CanaryStage(title="refusal", act=refusal),
    5: CanaryStage(title="leave nothing", act=leave_nothing),
}


def stage_numbers(text: str) -> tuple[int, ...]:
    """Return the stages that a text such as `0-2` or `0,5` names, in order. Raises InvalidInput for another text."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise _unknown_stages(text)
        numbers.update(range(int(first), int(last or first) + 1))
    if not numbers or max(numbers) > max(STAGES):
        raise _unknown_stages(text)
    return tuple(sorted(numbers & STAGES.keys()))


def _unknown_stages(text: str) -> InvalidInput:
    return InvalidInput.of(
        where="--stages",
        what=repr(text),
        why=f"the stages are {min(STAGES)} to {max(STAGES)}",
        fix="write a range such as 0-2, or a list such as 0,1,5",
    )


def stage_answers(canary: Canary, numbers: Sequence[int]) -> Iterator[StageAnswer]:
    """Yield the answer of each stage, saved. A stage that was answered before is not repeated unless it failed.

    A stage may fail alone: its failure is an answer. Only a launch that failed ends the run, so that you can look why.
    Raises the error of an interruption, such as expired credentials, after which the same command continues.
    """
    for number in numbers:
        answer = canary.run.answer(number)
        if answer is None or answer.failure:
            answer = _answered(canary, number)
            canary.run.save(answer)
        yield answer
        if number == LAUNCH and answer.failure:
            return


def _answered(canary: Canary, number: int) -> StageAnswer:
    began, outcome, failure = time.monotonic(), StageOutcome(), ""
    try:
        outcome = STAGES[number].act(canary)
    except WarmbaseError as error:
        if is_interruption(error):
            raise
        failure = str(error)
    return StageAnswer(
        stage=number,
        seconds=time.monotonic() - began,
        failure=failure,
        lines=outcome.lines,
        results=outcome.results,
    )
