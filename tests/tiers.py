"""Which cases of a long table `make test` runs; `make test-all` runs them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def quick_where(is_quick: Callable[[Any], bool], cases: Iterable[Any]) -> list[ParameterSet]:
    """Return the cases of a parametrised test, those that are not quick marked thorough."""
    marks: dict[bool, Any] = {True: (), False: pytest.mark.thorough}
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks[is_quick(case)]) for case in cases
    ]
