"""A lab that stays up after the command that began it: what runs, where, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from lab.hbase.admin import Admin
from lab.hbase.bench import Bench
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.experiment import family_of
from lab.hbase.jmx import CacheCounters, cache_counters
from lab.hbase.laboratory import admin_command
from lab.hbase.paths import LabPaths, Ports, free_ports, home
from lab.hbase.process import RunningProcess, began
from lab.hbase.run import RunRequest, check_room
from lab.hbase.store.processes import Program, start_store
from lab.hbase.ycsb import Ycsb
from sizing.problem import OperationFailed

__all__ = ["BackgroundLab", "Process", "background_lab", "down", "up"]

STATE: Final = "up.json"
DIRECTORY: Final = "up"
STOP_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 0.1
# The master first, for it would hold the regions of a server that goes; the store last, for all write to it.
ENDING: Final = ("master", "server-0", "zookeeper", "store proxy", "store")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of it. `ticks` is when it began, so that another of the same id is not taken for it."""

    name: str
    id: int
    ticks: int

    @property
    def is_alive(self) -> bool:
        """Return whether it still runs."""
        return began(self.id) == self.ticks

    def end(self) -> None:
        """Asks its group to end, and kills it after a while."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.is_alive:
                return
            with suppress(ProcessLookupError):
                os.killpg(self.id, number)
            ends = time.monotonic() + STOP_SECONDS
            while self.is_alive and time.monotonic() < ends:
                time.sleep(LOOK_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundLab:
    """A lab that was left up."""

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
    def cache(self) -> CacheCounters | None:
        """Return what its RegionServer has counted; None while it does not answer."""
        return cache_counters(self.ports.servers_info[0])


def up(asked: RunRequest, say: Callable[[str], None]) -> BackgroundLab:
    """Starts one with the environment's table filled and one RegionServer as planned.

    Raises OperationFailed when one is up already, or when something does not start: nothing is left running then;
    InvalidInput where this machine is too small.
    """
    found = background_lab()
    if found is not None and any(process.is_alive for process in found.processes):
        raise OperationFailed(f"a lab of {found.environment} is up already\n  fix: end it with `warmbase lab down`")
    down()
    check_room(asked.of)
    place = LabPaths(root=home() / DIRECTORY, ports=free_ports())
    place.make()
    of = asked.of
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
            _serve(bench, asked)
        left = BackgroundLab(
            environment=of.launch.environment.name,
            root=str(place.root),
            ports=place.ports,
            table=asked.table.name,
            processes=_processes({**cluster.running, "store proxy": running.proxy, "store": running.server}),
        )
        half = _state().with_suffix(".part")
        half.write_text(json.dumps(asdict(left), indent=1), encoding="utf-8")
        half.replace(_state())
        stack.pop_all()
    return left


def background_lab() -> BackgroundLab | None:
    """The lab that was left up, whether its processes still run or not."""
    try:
        value: dict[str, Any] = json.loads(_state().read_text(encoding="utf-8"))
        ports = value["ports"]
        named = {"servers": tuple(ports["servers"]), "servers_info": tuple(ports["servers_info"])}
        processes = tuple(Process(**process) for process in value["processes"])
        return BackgroundLab(**value | {"ports": Ports(**ports | named), "processes": processes})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def down() -> bool:
    """Ends the lab that is up and removes what it stored; False where there was none."""
    found = background_lab()
    named = () if found is None else sorted(found.processes, key=lambda each: ENDING.index(each.name))
    for process in named:
        process.end()
    # What a command that was killed on the way up has left.
    strays = _strays()
    for process in strays:
        process.end()
    shutil.rmtree(home() / DIRECTORY, ignore_errors=True)
    _state().unlink(missing_ok=True)
    return found is not None or bool(strays)


def _strays() -> tuple[Process, ...]:
    """Processes that work in the directory of a lab that stays up, whether they were written down or not."""
    root, found = (home() / DIRECTORY).resolve(), []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if root in (link.readlink(), *link.readlink().parents):
                number = int(link.parent.name)
                found.append(Process(name="stray", id=number, ticks=began(number)))
    return tuple(found)


def _serve(bench: Bench, asked: RunRequest) -> None:
    bench.table(asked.table, family_of(asked.table, asked.of.miniature))
    bench.say("starting a RegionServer as planned")
    bench.serve(LabServer(), cold=True)
    bench.store.set(asked.of.latency)


def _processes(running: Mapping[str, RunningProcess]) -> tuple[Process, ...]:
    return tuple(Process(name=name, id=each.id, ticks=began(each.id)) for name, each in running.items())


def _state() -> Path:
    return home() / STATE
