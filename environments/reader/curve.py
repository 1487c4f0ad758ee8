"""A measured popularity: a CSV file of cumulative shares, hottest rows first.

Columns `rows` and `reads`, both from 0 to 1 and rising: `0.1,0.9` says that the hottest tenth of the rows gets nine
tenths of the reads.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from environments.regular_file import read_regular_file
from sizing.popularity import Curve
from sizing.problem import InvalidInput, Problem


def read_curve(path: Path) -> Curve:
    """Raises InvalidInput, with the line where there is one, for a file that is not such a curve."""
    points = []
    for line, row in _rows(path):
        try:
            points.append((float(row["rows"]), float(row["reads"])))
        except (TypeError, ValueError, KeyError):
            raise InvalidInput(
                [_problem(f"{path}:{line}", f"{row} does not have the two numbers `rows` and `reads`")]
            ) from None
    if not points:
        raise InvalidInput([_problem(str(path), "the file has no points")])
    try:
        return Curve(points=tuple(points))
    except InvalidInput as error:
        raise InvalidInput([_problem(str(path), error.problems[0].why)]) from None


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        reader = csv.DictReader(io.StringIO(read_regular_file(path).decode("utf-8"), newline=""))
        return [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput([_problem(str(path), str(error))]) from None


def _problem(where: str, why: str) -> Problem:
    return Problem(
        where=where,
        what="popularity curve",
        why=why,
        fix="two columns, rows and reads: cumulative shares from 0 to 1, hottest rows first, such as 0.1,0.9",
    )
