"""An HBase root in a directory of this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from hfile.layout import FileEntry
from hfile.readable import LocalFile
from sizing.problem import InvalidInput


class LocalRoot(Struct, frozen=True):
    """An HBase root in a local directory."""

    directory: Path

    @property
    def url(self) -> str:
        """Return the path of the directory."""
        return str(self.directory)

    def files(self) -> Iterator[FileEntry]:
        """Yield every regular file below it that is still there when its turn comes."""
        for directory, _, names in os.walk(self.directory, onerror=_refuse):
            for name in names:
                path = Path(directory, name)
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                if not stat.S_ISREG(status.st_mode):
                    continue
                relative = path.relative_to(self.directory).as_posix()
                yield FileEntry(relative, status.st_size, str(status.st_mtime_ns))

    def readable(self, stored: FileEntry) -> LocalFile:
        """Open one of the files."""
        return LocalFile(self.directory / stored.path)


def _refuse(error: OSError) -> None:
    """A directory that cannot be listed would be missing without a word."""
    if not isinstance(error, FileNotFoundError):
        fix = "run it as somebody who may read the whole root"
        raise InvalidInput.of(where=str(error.filename), what="cannot be listed", why=str(error), fix=fix)
