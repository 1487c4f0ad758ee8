"""Which cases of a long table `make test` runs, where `make test-all` runs them all, and how long a law is tried."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import is_hypothesis_test, settings
from hypothesis.errors import HypothesisException, StopTest

LAW_SECONDS = {"quick": 1.0, "ci": 3.0, "fuzz": 30.0}
"""The processor's time after which a law is tried on no more examples, by the profile of hypothesis.

judgement: in `make test`, eight examples of most laws take less. In `make test-all`, a law whose examples take 30 ms is
tried on all 100, and one that searches for plans on some ten. `make fuzz` tries each for up to half a minute. Any
other profile has no limit. On a slower processor, a law is tried on fewer examples, but at least on one, and never
fails by that.
"""


def quick_where(is_quick: Callable[[Any], bool], cases: Iterable[Any]) -> list[ParameterSet]:
    """Return the cases of a parametrised test, those that are not quick marked thorough."""
    marks: dict[bool, Any] = {True: (), False: pytest.mark.thorough}
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks[is_quick(case)]) for case in cases
    ]


def follows_profile(law: Any) -> bool:
    """Return whether a test is a law that the profile of hypothesis tries on more examples, or on fewer.

    A law that fixes their number, which then differs from that of the profile, is the same in each profile.
    """
    fixed = getattr(law, "_hypothesis_internal_use_settings", None)
    return is_hypothesis_test(law) and (fixed is None or fixed.max_examples == settings().max_examples)


@contextmanager
def within_budget(law: Any) -> Iterator[None]:
    """Try a law on no more examples once those before have taken its time: the others pass untried.

    From the first failure on, all are tried, because hypothesis repeats and shortens the example that failed.
    """
    original, has_begun, has_failed = law.hypothesis.inner_test, False, False
    end = time.process_time() + LAW_SECONDS.get(settings.get_current_profile_name(), math.inf)

    @wraps(original)
    def budgeted(*arguments: Any, **named: Any) -> Any:
        nonlocal has_begun, has_failed
        if has_begun and not has_failed and time.process_time() > end:
            return None
        has_begun = True
        try:
            return original(*arguments, **named)
        except (HypothesisException, StopTest):
            raise
        except BaseException:
            has_failed = True
            raise

    law.hypothesis.inner_test = budgeted
    try:
        yield
    finally:
        law.hypothesis.inner_test = original
