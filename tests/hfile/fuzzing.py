"""How laws are held against many inputs: each soon, and how many with `--inputs`."""

from __future__ import annotations

import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from warmbase.hfile.cursor import Unreadable

INPUTS_PER_EXAMPLE = 40
"""All tests together try so many inputs for each example that hypothesis tries of a law: 1,000, and with ci 8,000."""
MOST_SECONDS = 60.0
"""The processor's time that no file takes on any machine: reading the slowest takes a tenth of a second."""
SLACK_BYTES = 6 << 20
"""One MiB that a block may hold beyond the file, and what Python takes for itself."""
LAWS = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


class TooLong(AssertionError):
    """More of the processor's time than a file may take."""


@contextmanager
def soon() -> Iterator[None]:
    """Raises TooLong when the block takes longer, even where it would never end; a busy machine does not count."""

    def raise_it(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, raise_it)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def refusal(read: Callable[[], object], name: str) -> Unreadable | None:
    """None where it answers, soon. What it refuses names the file and an offset; what else it raises goes on."""
    refused = None
    with soon():
        try:
            read()
        except Unreadable as error:
            refused = error
    if refused is not None:
        assert refused.name == name
        assert refused.offset >= 0
        assert str(refused).startswith(f"{name}  at byte {refused.offset:,}\n")
    return refused


def peak_bytes(read: Callable[[], object]) -> int:
    """The most memory that it took at once, whether it answers or refuses."""
    tracemalloc.start()
    try:
        with suppress(Unreadable):
            read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def tried(
    request: pytest.FixtureRequest,
    law: Callable[[Any], None],
    inputs: st.SearchStrategy[Any],
    share: float,
    seeded: str,
) -> None:
    """Holds a law against that share of all inputs: the same ones each time, unless their number is asked for."""
    asked = request.config.getoption("--inputs")
    most = max(1, round(share * (asked or INPUTS_PER_EXAMPLE * settings().max_examples)))
    count = 0

    @settings(LAWS, max_examples=most)
    @given(inputs)
    def counted(tried: Any) -> None:
        nonlocal count
        count += 1
        law(tried)

    (counted if asked else seed(seeded)(counted))()
    assert count >= most
