"""The time of day of the local AWS, which tests move forward: schedules fire and modifications end by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_ahead: Final = [timedelta()]


def now() -> datetime:
    """Return the time of the local AWS, in UTC."""
    return datetime.now(UTC) + _ahead[0]


def advance(seconds: float) -> None:
    """Move the clock forward."""
    _ahead[0] += timedelta(seconds=seconds)


def reset() -> None:
    """Set the clock to the time of this machine again."""
    _ahead[0] = timedelta()
