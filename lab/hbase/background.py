"""A lab that stays up after the command that started it: its processes, its directories, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, to_builtins

from lab.hbase.admin import Admin
from lab.hbase.bench import Bench
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.experiment import family_of
from lab.hbase.jmx import CacheCounters, cache_counters
from lab.hbase.laboratory import admin_command
from lab.hbase.run import RunRequest, check_room
from lab.hbase.store import Program, start_store
from lab.hbase.ycsb import Ycsb
from lab.machine.paths import LabPaths, Ports, free_ports, home
from lab.machine.process import began
from warmbase.ground.errors import OperationFailed

STATE: Final = "up.json"
DIRECTORY: Final = "up"
STOP_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.1
# The master goes first, because it would hold the regions of a server that stops; the store goes last.
ENDING: Final = ("master", "server-0", "server-1", "server-2", "zookeeper", "store proxy", "store")


class Process(Struct, frozen=True, kw_only=True):
    """One process of the lab; with its start time `ticks`, a reused id is not mistaken for it."""

    name: str
    id: int
    ticks: int

    @property
    def is_alive(self) -> bool:
        """Return whether it still runs."""
        return began(self.id) == self.ticks

    def end(self) -> None:
        """Ask the process group to end, and kill it after a time limit."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.is_alive:
                return
            with suppress(ProcessLookupError):
                os.killpg(self.id, number)
            ends = time.monotonic() + STOP_SECONDS
            while self.is_alive and time.monotonic() < ends:
                time.sleep(POLL_SECONDS)


class BackgroundLab(Struct, frozen=True, kw_only=True):
    """A lab that an earlier command left running."""

    environment: str
    root: str
    ports: Ports
    table: str
    processes: tuple[Process, ...]

    @property
    def place(self) -> LabPaths:
        """Return its directories and ports."""
        return LabPaths(root=Path(self.root), ports=self.ports)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of its RegionServers."""
        names = {process.name for process in self.processes}
        return tuple(number for number in range(len(self.ports.servers)) if f"server-{number}" in names)

    @property
    def cache(self) -> CacheCounters | None:
        """Return the sums of the RegionServers' counters, None while one of them does not answer."""
        counters = [cache_counters(self.ports.servers_info[number]) for number in self.numbers]
        return None if None in counters else reduce(add, filter(None, counters))


def up(request: RunRequest, say: Callable[[str], None]) -> BackgroundLab:
    """Start a lab whose RegionServers run as planned, with the environment's table filled.

    Raises OperationFailed if a lab is up already, or if something does not start; nothing is left running then. Raises
    InvalidInput if this machine is too small.
    """
    earlier = background_lab()
    if earlier is not None and any(process.is_alive for process in earlier.processes):
        raise OperationFailed.of(
            where="warmbase lab up",
            what=f"a lab of {earlier.environment} is already running",
            why="one lab runs in the background at a time",
            fix="end it with `warmbase lab down`",
        )
    down()
    check_room(request.of)
    place = LabPaths(root=home() / DIRECTORY, ports=free_ports())
    place.make()
    of = request.of
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, place.root, ignore_errors=True)
        program = Program(java=of.software.java, class_path=of.software.store_class_path)
        running = start_store(place, program, stays=True)
        stack.callback(running.stop)
        cluster = LabCluster(software=of.software, place=place, launch=of.launch, miniature=of.miniature, stays=True)
        stack.callback(cluster.end)
        cluster.begin()
        with Admin(admin_command(of.software, place)) as admin:
            bench = Bench(
                cluster=cluster,
                store=running.store,
                admin=admin,
                ycsb=Ycsb(software=of.software, place=place),
                say=say,
                latency=of.latency,
            )
            bench.table(request.table, family_of(request.table, of.miniature))
            say("starting the RegionServers as planned")
            bench.serve(LabServer(), cold=True)
            bench.store.set(of.latency)
        processes = {**cluster.running, "store proxy": running.proxy, "store": running.server}
        background = BackgroundLab(
            environment=of.launch.environment.name,
            root=str(place.root),
            ports=place.ports,
            table=request.table.name,
            processes=tuple(
                Process(name=name, id=process.id, ticks=began(process.id)) for name, process in processes.items()
            ),
        )
        half = _state().with_suffix(".part")
        half.write_text(json.dumps(to_builtins(background), indent=1), encoding="utf-8")
        half.replace(_state())
        stack.pop_all()
    return background


def background_lab() -> BackgroundLab | None:
    """Return the lab that was left up, whether its processes still run or not."""
    try:
        value: dict[str, Any] = json.loads(_state().read_text(encoding="utf-8"))
        ports = value["ports"]
        named = {"servers": tuple(ports["servers"]), "servers_info": tuple(ports["servers_info"])}
        processes = tuple(Process(**process) for process in value["processes"])
        return BackgroundLab(**value | {"ports": Ports(**ports | named), "processes": processes})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def down() -> bool:
    """End the lab that is up and remove its files; return False if there was none."""
    background = background_lab()
    named = () if background is None else sorted(background.processes, key=lambda running: ENDING.index(running.name))
    for process in named:
        process.end()
    # Processes that a killed `warmbase lab up` left run in the directory of a background lab.
    root, strays = (home() / DIRECTORY).resolve(), []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if root in (link.readlink(), *link.readlink().parents):
                number = int(link.parent.name)
                strays.append(Process(name="stray", id=number, ticks=began(number)))
    for process in strays:
        process.end()
    shutil.rmtree(home() / DIRECTORY, ignore_errors=True)
    _state().unlink(missing_ok=True)
    return background is not None or bool(strays)


def _state() -> Path:
    return home() / STATE
