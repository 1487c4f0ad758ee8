"""Where one lab runs: its directories, and ports of the loopback interface that nobody uses."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["HOST", "Place", "Ports", "free_ports"]

HOST: Final = "127.0.0.1"
SERVERS: Final = 2
"""RegionServers that a lab may run at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """One port for each listener; RegionServers by their number."""

    store: int
    endpoint: int
    control: int
    zookeeper: int
    master: int
    master_info: int
    servers: tuple[int, ...]
    servers_info: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The directory of one lab; everything that it writes lies below."""

    root: Path
    ports: Ports

    @property
    def logs(self) -> Path:
        """One file for each process, and one for its own log."""
        return self.root / "logs"

    @property
    def objects(self) -> Path:
        """What the S3 server stores."""
        return self.root / "objects"

    @property
    def write_ahead_log(self) -> Path:
        """`hbase.wal.dir`: a local file system stands for HDFS."""
        return self.root / "wal"

    @property
    def scratch(self) -> Path:
        """`hbase.tmp.dir` and S3A's buffers."""
        return self.root / "scratch"

    @property
    def volumes(self) -> Path:
        """Where the volumes of RegionServers are, or are mounted: one directory each."""
        return self.root / "volumes"

    def configuration(self, name: str) -> Path:
        """The configuration directory of one process."""
        return self.root / "conf" / name

    def log(self, name: str) -> Path:
        """What the process itself logs."""
        return self.logs / f"{name}.log"

    def output(self, name: str) -> Path:
        """What it prints, and the JVM's last words."""
        return self.logs / f"{name}.out"

    def make(self) -> None:
        """Makes every directory."""
        for directory in (self.logs, self.objects, self.write_ahead_log, self.scratch, self.volumes):
            directory.mkdir(parents=True, exist_ok=True)


def free_ports() -> Ports:
    """Ports that are free now, all different."""
    with ExitStack() as held:
        numbers = []
        for _ in range(6 + 2 * SERVERS):
            listener = held.enter_context(socket.socket())
            listener.bind((HOST, 0))
            numbers.append(int(listener.getsockname()[1]))
    return Ports(
        store=numbers[0],
        endpoint=numbers[1],
        control=numbers[2],
        zookeeper=numbers[3],
        master=numbers[4],
        master_info=numbers[5],
        servers=tuple(numbers[6 : 6 + SERVERS]),
        servers_info=tuple(numbers[6 + SERVERS :]),
    )
