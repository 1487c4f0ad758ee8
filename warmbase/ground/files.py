"""The locations of the package's files, and the reading of a user's files.

In a checkout, links lead to the package's files that stand at its top. A user's file must be a regular one: a pipe that
nobody writes to, or a device, would block a command for ever.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]
"""The directory `warmbase`, in a checkout or among the installed packages."""
EXAMPLES: Final = PACKAGE / "examples"
"""The environment files that ship."""


def is_checkout() -> bool:
    """Return whether this is a clone of the repository, which has the lab and the local AWS beside the package."""
    return (PACKAGE.parent / "Makefile").exists()


def read_regular_file(path: Path, most_bytes: int = -1) -> bytes:
    """Return the content, or its first bytes. Raises OSError for a file that is not regular, without waiting for it."""
    # A device may act when it is opened, so its kind is read first; O_NONBLOCK covers a pipe that replaces the file.
    _refuse_special(path.stat().st_mode, path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        _refuse_special(os.fstat(descriptor).st_mode, path)
        return file.read(most_bytes)


def _refuse_special(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        raise OSError(f"{path} is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a regular file")
