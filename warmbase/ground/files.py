"""The locations of the package's files, and the reading of a user's files.

In a checkout, links lead to the package's files that stand at its top. A user's file must be a regular one: a pipe that
nobody writes to, or a device, would block a command for ever.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, Final

PACKAGE: Final = Path(__file__).parents[1]
"""The directory `warmbase`, in a checkout or among the installed packages."""
EXAMPLES: Final = PACKAGE / "examples"
"""The environment files that ship."""
MOST_BYTES: Final = 16 * 2**20
"""judgement: the largest file that a command reads whole, an inspection of many tables, has less than one MiB."""


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


def read_whole_file(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content. Raises OSError as read_regular_file, and for a longer file."""
    content = read_regular_file(path, most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it is over {most_bytes / 2**20:.0f} MiB", str(path))
    return content


def read_json(path: Path) -> Any:  # noqa: ANN401 - any document
    """Return the document that a file holds. Raises OSError as read_whole_file, and ValueError if it is not JSON."""
    try:
        return json.loads(read_whole_file(path))
    except RecursionError:
        raise ValueError("it nests too deep") from None


def _refuse_special(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        raise OSError(f"{path} is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a regular file")
