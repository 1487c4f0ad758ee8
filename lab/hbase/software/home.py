"""Where the lab's software lies: once for a user, whatever clone of the project set it up."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sizing.problem import OperationFailed

__all__ = ["home", "locked"]

LOCK: Final = "setup.lock"


def home() -> Path:
    """`$XDG_CACHE_HOME/warmbase/lab`, else `~/.cache/warmbase/lab`; it need not exist."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # A relative one is to be ignored, says the XDG Base Directory Specification.
    cache = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    return cache / "warmbase" / "lab"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keeps every other set-up and removal out of the directory within the block; makes it where it is missing.

    Raises OperationFailed when somebody else is in it, or when it cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / LOCK).open("w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError:
        raise OperationFailed(f"{directory}: another set-up is at work there\n  fix: wait until it is done") from None
    except PermissionError as error:
        raise OperationFailed(
            f"{error.filename}: cannot be written\n  fix: set XDG_CACHE_HOME to a directory that is yours"
        ) from None
