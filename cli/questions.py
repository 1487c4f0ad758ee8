"""The questions of `warmbase new`, each with a hint about how to find the number on a running cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import Final

import click
from msgspec import Struct, field

from cli.signals import interruptible
from cli.terminal import echo
from environments.draft.draft_file import refusals
from environments.reader.assignment import Assignment
from environments.reader.document import YamlPath, path_text
from environments.reader.measurements import MEASUREMENTS
from facts.prices import priced_regions
from sizing.problem import InvalidInput, Problem, fix_line

WIDTH: Final = 80
WHERE: Final = "answer"
MILD: Final = "mild"
SKEWS: Final[Mapping[str, str]] = {"even": "uniform", MILD: "", "strong": "{zipf: 0.99}"}
"""Words for the skew of the reads; a mild one is what a draft assumes."""


class Question(Struct, frozen=True, kw_only=True):
    """A question, and the answer that Enter gives. `words` are answers that stand for other ones."""

    text: str
    hint: str
    words: Mapping[str, str] = field(default_factory=dict)
    default: Callable[[], str | None] = lambda: None


def _measured(path: YamlPath, text: str) -> tuple[YamlPath, Question]:
    return path, Question(text=text, hint=f"On a running cluster: {MEASUREMENTS[path_text(path)]}")


QUESTIONS: Final[Mapping[YamlPath, Question]] = dict(
    (
        _measured(("workload", "stored"), "How much data is stored, such as 3 TiB?"),
        _measured(("workload", "reads", "per_second"), "How many reads per second, on average?"),
        _measured(("workload", "row"), "How many bytes of a row does a read touch, such as 2 KiB?"),
        (
            ("workload", "popularity"),
            Question(
                text=f"How are the reads spread over rows: {', '.join(SKEWS)}?",
                hint="even: every row is read about equally often. mild: popular rows are read more, as on the web."
                " strong: a few rows get most of the reads. If you do not know, keep mild.",
                words=SKEWS,
                default=lambda: MILD,
            ),
        ),
        (
            ("region",),
            Question(
                text="Which AWS Region?",
                hint=f"warmbase knows the prices of {', '.join(priced_regions())}.",
                default=lambda: os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
            ),
        ),
    )
)
"""The five questions, by the path of the key whose value they ask for."""


def ask(path: YamlPath, question: Question, values: Sequence[Assignment]) -> Assignment | None:
    """Return the answer of the person at the terminal; None where they leave the value to an assumption.

    Asks again after an invalid answer. Raises Abort at the end of the input.
    """
    echo("\n" + fill(question.hint, WIDTH, break_on_hyphens=False, break_long_words=False))
    while True:
        with interruptible():
            text = click.prompt(question.text, default=question.default(), prompt_suffix=" ").strip()
        text = question.words.get(text, text)
        if not text:
            return None
        answer, problems = _checked(path, text, values)
        if answer is not None and not problems:
            return answer
        if question.words:
            echo(_indented(fix_line(f"answer {', '.join(question.words)}")))
            continue
        for problem in problems:
            echo(_indented(problem.why) + "\n" + _indented(fix_line(problem.fix)))


def _indented(text: str) -> str:
    return fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _checked(path: YamlPath, text: str, values: Sequence[Assignment]) -> tuple[Assignment | None, Sequence[Problem]]:
    """Return the answer as a value, with what is wrong with it."""
    try:
        answer = Assignment.at(path, text.replace(",", "") if text[:1].isdigit() else text, WHERE)
    except InvalidInput as error:
        return None, error.problems
    return answer, refusals((*values, answer), WHERE)
