"""The program that systemd runs before each RegionServer start, and what it runs on."""

import getpass
import os
import subprocess
import sys
from pathlib import Path

from tests.patience import HANG_SECONDS
from warmbase.configurations.bootstrap import program

PROGRAM = program("before_regionserver.py").read_text(encoding="utf-8")

PROPERTIES = {
    "size": "hbase.bucketcache.size",
    "ioengine": "hbase.bucketcache.ioengine",
    "index": "hbase.bucketcache.persistent.path",
}


def hbase_site(properties: dict[str, str]) -> str:
    """The file that says so, as EMR writes it."""
    lines = [f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties.items()]
    return "<?xml version='1.0'?>\n<configuration>\n" + "\n".join(lines) + "\n</configuration>\n"


class Volume:
    """A directory as the cache volume, and the program run on it as the current user."""

    def __init__(self, directory: Path) -> None:
        self.program = directory / "before-regionserver"
        self.program.write_text(PROGRAM, encoding="utf-8")
        self.mount = next(parent for parent in directory.parents if os.path.ismount(parent))
        self.cache = directory / "bucketcache" / "cache"
        self.index = directory / "persistence" / "index"
        self.index.parent.mkdir()
        self.site = directory / "hbase-site.xml"
        self.configure()

    def configure(self, **changes: str | None) -> None:
        """Write an hbase-site.xml that agrees with the launch but for these: size, ioengine, index; None leaves out."""
        values = {"size": "1", "ioengine": f"files:{self.cache}", "index": str(self.index)} | changes
        named = {PROPERTIES[key]: value for key, value in values.items() if value is not None}
        self.site.write_text(hbase_site(named), encoding="utf-8")

    def start(self, *changes: str) -> subprocess.CompletedProcess[str]:
        """Return what the program answers, a MiB of cache and a chunked index being expected unless changed."""
        given = [
            f"--volume={self.mount}",
            f"--owner={getpass.getuser()}",
            f"--cache-file={self.cache}",
            "--cache-mib=1",
            f"--index-file={self.index}",
            "--index-mib=1",
            "--index-format=chunked",
            f"--hbase-site={self.site}",
        ]
        command = [sys.executable, str(self.program), *given, *changes]  # argparse: the last one counts
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)

    def beside_index(self) -> list[str]:
        """Return the names in the persistence directory."""
        return sorted(path.name for path in self.index.parent.iterdir())
