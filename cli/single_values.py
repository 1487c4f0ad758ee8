"""The check of a command whose page needs one value for each input, where an environment file may have ranges."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import chain

from cli.decision import value_text
from environments.reader.assignment import OPTION, Assignment
from environments.reader.read import read_ranges
from sizing.problem import InvalidInput, Problem


def require_single_values(environment: str, assignments: Sequence[Assignment], command: str) -> None:
    """Raise InvalidInput if inputs are ranges; the fix is the `command` with the middle of each range."""
    ranges = list(read_ranges(environment, assignments).ranges.values())
    middles = (f"{entry.key}={_joined(value_text(entry, entry.middle))}" for entry in ranges)
    options = shlex.join(chain.from_iterable((OPTION, middle) for middle in middles))
    problems = [
        Problem(
            where=entry.where,
            what=f"{entry.key} is a range",
            why="the page shows plans for single values",
            fix=f"for the middle of the ranges, run `{command} {options}`; for the cluster that suits them best, run "
            f"`warmbase plan {shlex.quote(environment)}`",
        )
        for entry in ranges
    ]
    if problems:
        raise InvalidInput(problems)


def _joined(text: str) -> str:
    return text.replace(" ", "").replace(",", "")
