"""The store's two processes: the S3 server, and the proxy that everybody goes through."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.hbase.paths import LabPaths, Ports
from lab.hbase.process import Command, RunningProcess, start
from lab.hbase.store.client import StoreClient
from lab.hbase.store.server import Program, start_server

__all__ = ["RunningStore", "start_proxy", "start_store", "store", "store_at"]

PROJECT: Final = Path(__file__).parents[3]
# judgement: Python starts in well under a second; this is for a loaded machine.
START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningStore:
    """A store, and its processes."""

    store: StoreClient
    proxy: RunningProcess
    server: RunningProcess

    def stop(self) -> None:
        """Ends the proxy, then the server; what was stored stays."""
        self.proxy.stop(STOP_SECONDS)
        self.server.stop(STOP_SECONDS)


def store_at(ports: Ports) -> StoreClient:
    """Return the store that somebody started on these ports."""
    return StoreClient(port=ports.endpoint, control_port=ports.control)


def start_store(place: LabPaths, program: Program, *, seed: int = 0, stays: bool = False) -> RunningStore:
    """Starts both; returns when they answer. Raises OperationFailed, with nothing left running."""
    server = start_server(place, program, stays=stays)
    try:
        proxy = start_proxy(place, seed=seed, stays=stays)
    except BaseException:
        server.kill()
        raise
    return RunningStore(store=store_at(place.ports), proxy=proxy, server=server)


@contextmanager
def store(place: LabPaths, program: Program, *, seed: int = 0) -> Iterator[StoreClient]:
    """A store that has ended when the block has."""
    running = start_store(place, program, seed=seed)
    try:
        yield running.store
    finally:
        running.stop()


def start_proxy(place: LabPaths, *, seed: int = 0, stays: bool = False) -> RunningProcess:
    """Starts the proxy alone, before whatever listens on `place.ports.store`. Raises OperationFailed."""
    ports = place.ports
    arguments = (
        *(sys.executable, "-m", "lab.hbase.store.proxy"),
        *("--listen-port", str(ports.endpoint)),
        *("--upstream-port", str(ports.store)),
        *("--control-port", str(ports.control)),
        *("--seed", str(seed)),
    )
    output = place.output("store-proxy")
    running = start(Command(name="store proxy", arguments=arguments, directory=PROJECT, output=output, stays=stays))
    try:
        running.wait_until(lambda: store_at(ports).is_up, START_SECONDS, "answer on its control port")
    except BaseException:
        running.kill()
        raise
    return running
