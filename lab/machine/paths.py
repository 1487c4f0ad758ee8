"""The places of a lab: its directories, its unused loopback ports, and the home of the lab's software."""

from __future__ import annotations

import os
import random
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from warmbase.ground.errors import OperationFailed

HOST: Final = "127.0.0.1"
LISTENING: Final = range(20_000, 32_768)
"""Ports below Linux's outgoing ports (net.ipv4.ip_local_port_range) and above well-known services."""
SERVERS: Final = 3
"""The most RegionServers that a lab runs at once."""


class Ports(Struct, frozen=True, kw_only=True):
    """One port for each listener; RegionServers by their number."""

    store: int
    endpoint: int
    control: int
    zookeeper: int
    master: int
    master_info: int
    servers: tuple[int, ...]
    servers_info: tuple[int, ...]


class LabPaths(Struct, frozen=True, kw_only=True):
    """The directory of one lab; everything that it writes lies below."""

    root: Path
    ports: Ports

    @property
    def logs(self) -> Path:
        """Return one file for each process, and one for its own log."""
        return self.root / "logs"

    @property
    def objects(self) -> Path:
        """Return what the S3 server stores."""
        return self.root / "objects"

    @property
    def write_ahead_log(self) -> Path:
        """`hbase.wal.dir`: a local file system stands for HDFS."""
        return self.root / "wal"

    @property
    def scratch(self) -> Path:
        """Return the directory of `hbase.tmp.dir` and of S3A's buffers."""
        return self.root / "scratch"

    @property
    def volumes(self) -> Path:
        """Where the volumes of RegionServers are, or are mounted: one directory each."""
        return self.root / "volumes"

    def configuration(self, name: str) -> Path:
        """Return the configuration directory of one process."""
        return self.root / "conf" / name

    def log(self, name: str) -> Path:
        """Return what the process itself logs."""
        return self.logs / f"{name}.log"

    def output(self, name: str) -> Path:
        """Return what it prints, and the JVM's last words."""
        return self.logs / f"{name}.out"

    def make(self) -> None:
        """Makes every directory."""
        for directory in (self.logs, self.objects, self.write_ahead_log, self.scratch, self.volumes):
            directory.mkdir(parents=True, exist_ok=True)


def free_ports() -> Ports:
    """Ports for every listener of an HBase lab. Raises as `unused_ports` does."""
    numbers = unused_ports(6 + 2 * SERVERS)
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


def unused_ports(wanted: int) -> list[int]:
    """Ports that are free now, all different, and that the system gives to no outgoing connection meanwhile.

    A server is stopped and started again on its port. Raises OperationFailed where too few are free.
    """
    numbers: list[int] = []
    with ExitStack() as sockets:
        for number in random.sample(LISTENING, len(LISTENING)):
            listener = sockets.enter_context(socket.socket())
            with suppress(OSError):
                listener.bind((HOST, number))
                numbers.append(number)
            if len(numbers) == wanted:
                return numbers
    raise OperationFailed.of(
        where=f"ports {LISTENING.start} to {LISTENING.stop}",
        what=f"{len(numbers)} of the {wanted} that the lab needs are free",
        why="other processes listen on the rest",
        fix="end them, such as an earlier lab: `warmbase lab down`",
    )


def home() -> Path:
    """Return `$XDG_CACHE_HOME/warmbase/lab`, else `~/.cache/warmbase/lab`, which need not exist."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG Base Directory Specification says to ignore a relative path.
    cache = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    return cache / "warmbase" / "lab"
