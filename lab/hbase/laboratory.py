"""A lab from nothing: place, store, HBase and bench for one environment, all gone when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from configurations.launch import Launch
from facts.releases import releases
from lab.hbase.admin import Admin, AdminCommand
from lab.hbase.bench import Bench
from lab.hbase.cluster import LabCluster
from lab.hbase.jvm import CLIENT_LOGGING, FIRST_TIER, Java
from lab.hbase.paths import LabPaths, free_ports
from lab.hbase.software import Software, software
from lab.hbase.store.running import store
from lab.hbase.store.server import Program
from lab.hbase.store.settings import Settings
from lab.hbase.ycsb import Ycsb
from lab.model.scaled_plan import ScaledPlan, Small, miniature
from sizing.release import Release

__all__ = ["Laboratory", "laboratory", "small_of"]

ADMIN_FLAGS = ("-Xmx256m", "-XX:+UseSerialGC", *FIRST_TIER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laboratory:
    """What a lab of that launch is made of."""

    launch: Launch
    release: Release
    miniature: ScaledPlan
    software: Software
    latency: Settings
    memory_bytes: int


def small_of(launch: Launch, small: Small, latency: Settings) -> Laboratory:
    """The launch at the scale of this machine. Raises InvalidInput where the lab is not set up."""
    release = releases()[launch.environment.release]
    return Laboratory(
        launch=launch,
        release=release,
        miniature=miniature(launch.plan, launch.environment.workload, release, small),
        software=software(release),
        latency=latency,
        memory_bytes=small.memory_bytes,
    )


@contextmanager
def laboratory(made_of: Laboratory, root: Path, say: Callable[[str], None]) -> Iterator[Bench]:
    """ZooKeeper, master and store up within the block; RegionServers are the scenarios' to start."""
    place = LabPaths(root=root, ports=free_ports())
    place.make()
    with ExitStack() as stack:
        program = Program(java=made_of.software.java, class_path=made_of.software.store_class_path)
        running = stack.enter_context(store(place, program))
        cluster = LabCluster(software=made_of.software, place=place, launch=made_of.launch, miniature=made_of.miniature)
        stack.callback(cluster.end)
        cluster.begin()
        yield Bench(
            cluster=cluster,
            store=running,
            admin=stack.enter_context(Admin(admin_command(made_of.software, place))),
            ycsb=Ycsb(software=made_of.software, place=place),
            say=say,
            latency=made_of.latency,
        )


def admin_command(programs: Software, place: LabPaths) -> AdminCommand:
    """How the admin process of that lab is started."""
    logging = place.configuration("client") / CLIENT_LOGGING
    flags = (*ADMIN_FLAGS, f"-Dlog4j2.configurationFile={logging}")
    java = Java(software=programs, configuration=place.configuration("client"), scratch=place.scratch, flags=flags)
    return AdminCommand(arguments=java.arguments(), directory=place.root, log=place.output("admin"))
