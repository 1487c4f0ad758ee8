"""Files that are written whole or not at all: to a temporary file in the same directory first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp


@contextmanager
def written_beside(path: Path, content: bytes, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary file with this content, to be renamed to `path` or linked there; it is removed if it remains.

    Without `mode`, its permissions are those of a new file. Raises OSError.
    """
    descriptor, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        if mode is None:
            # The umask, the permissions that new files lack, can be read only by setting it.
            mask = os.umask(0o077)
            os.umask(mask)
            mode = 0o666 & ~mask
        temporary.chmod(mode)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write the file in place of an earlier one. Raises OSError, and the earlier one stays."""
    with written_beside(path, content, mode) as temporary:
        temporary.replace(path)
