"""A new lab for one environment: directories, store, HBase and bench, which all end together; and its scale.

Its directories end with the command that started it; those of a command that was killed are removed by the next one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from lab.hbase.admin import Admin, AdminCommand
from lab.hbase.bench import Bench
from lab.hbase.cluster import LabCluster, kdc
from lab.hbase.configuration import CLIENT_LOGGING, FIRST_TIER, Java
from lab.hbase.software import Software, software
from lab.hbase.store import Program, Settings, store
from lab.hbase.ycsb import Ycsb
from lab.machine import control_groups, volume
from lab.machine.paths import LabPaths, free_ports, home
from lab.machine.process import began
from lab.scaled_plan import CLIENTS, ScaledPlan, Small, miniature
from warmbase.configurations.launch import Launch
from warmbase.facts.releases import releases
from warmbase.ground.release import Release
from warmbase.ground.units import MIB, format_size


@contextmanager
def run_directory() -> Iterator[Path]:
    """Yield a directory that is removed afterwards; leftovers of killed commands are removed first."""
    clean_abandoned()
    directory = _runs() / f"{os.getpid()}-{began(os.getpid())}"
    directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        remove_directory(directory)


def clean_abandoned() -> tuple[Path, ...]:
    """Remove the directories, and unmount the volumes, of commands that have ended; return them."""
    abandoned = tuple(path for path in sorted(_runs().glob("*")) if not _is_alive(path.name))
    for directory in abandoned:
        remove_directory(directory)
    control_groups.remove_abandoned()
    return abandoned


def running() -> tuple[int, ...]:
    """Return the process ids of the commands whose labs run now."""
    return tuple(int(path.name.partition("-")[0]) for path in sorted(_runs().glob("*")) if _is_alive(path.name))


def remove_directory(directory: Path) -> None:
    """Remove a directory with everything that is mounted in it."""
    volume.clean(directory)
    shutil.rmtree(directory, ignore_errors=True)


def _runs() -> Path:
    return home() / "runs"


def _is_alive(name: str) -> bool:
    """Return whether the command that created it still runs; a reused process id has another start time."""
    number, _, ticks = name.partition("-")
    return number.isdecimal() and ticks == str(began(int(number)))


ADMIN_FLAGS = ("-Xmx256m", "-XX:+UseSerialGC", *FIRST_TIER)


class Laboratory(Struct, frozen=True, kw_only=True):
    """The parts of a lab for one launch."""

    launch: Launch
    release: Release
    miniature: ScaledPlan
    software: Software
    latency: Settings
    memory_bytes: int


def small_of(launch: Launch, small: Small, latency: Settings) -> Laboratory:
    """Return the launch at the scale of this machine. Raises InvalidInput where the lab is not set up."""
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
def laboratory(parts: Laboratory, root: Path, say: Callable[[str], None], users: Sequence[str] = ()) -> Iterator[Bench]:
    """Run ZooKeeper, master and store within the block; scenarios start the RegionServers.

    With users, a KDC runs as well, and has their principals.
    """
    place = LabPaths(root=root, ports=free_ports())
    place.make()
    with ExitStack() as stack:
        program = Program(java=parts.software.java, class_path=parts.software.store_class_path)
        running = stack.enter_context(store(place, program))
        realm = stack.enter_context(kdc(place, parts.software, *users)) if users else None
        cluster = LabCluster(
            software=parts.software, place=place, launch=parts.launch, miniature=parts.miniature, kdc=realm
        )
        stack.callback(cluster.end)
        cluster.begin()
        yield Bench(
            cluster=cluster,
            store=running,
            admin=stack.enter_context(Admin(admin_command(parts.software, place))),
            ycsb=Ycsb(software=parts.software, place=place),
            say=say,
            latency=parts.latency,
        )


def admin_command(programs: Software, place: LabPaths) -> AdminCommand:
    """Return the command that starts the lab's admin process."""
    logging = place.configuration("client") / CLIENT_LOGGING
    flags = (*ADMIN_FLAGS, f"-Dlog4j2.configurationFile={logging}")
    java = Java(software=programs, configuration=place.configuration("client"), scratch=place.scratch, flags=flags)
    return AdminCommand(arguments=java.arguments(), directory=place.root, log=place.output("admin"))


def scale(of: Laboratory) -> tuple[tuple[str, str, str], ...]:
    """Return each quantity as (name, in the plan, in the lab)."""
    plan, small, workload = of.launch.plan, of.miniature, of.launch.environment.workload
    mine = small.workload
    rows = [
        ("RegionServers", f"{plan.core.count}", f"{small.servers}"),
        ("data as stored", format_size(workload.stored_bytes), format_size(mine.stored_bytes)),
        ("rows of one cell", "", f"{small.rows:,}"),
        ("cell", f"{workload.cell_bytes:,} B", f"{mine.cell_bytes:,} B"),
        ("block", format_size(workload.block_bytes), format_size(mine.block_bytes)),
        ("blocks", "", f"{small.demand.blocks.count:,}"),
        ("regions", f"{workload.regions:,}", f"{small.regions}"),
        ("heap of a RegionServer", format_size(plan.heap.xmx_mib * MIB), format_size(small.heap_mib * MIB)),
    ]
    if plan.bucket_cache is not None:
        rows += [
            ("BucketCache of one", format_size(plan.cache.size_mib * MIB), format_size(small.cache_mib * MIB)),
            ("cache, as a share of all data", f"{small.cached_share:.0%}", f"{_share(small):.0%}"),
            ("bucket sizes", _sizes(plan.cache.bucket_sizes), _sizes(small.demand.sizes)),
        ]
    rows += [
        ("compilers of the JVM", "both", "the first only, because a server lives for minutes here"),
        ("clients reading at once", "", f"{CLIENTS}, unless stated otherwise"),
        ("first byte from S3", "as S3 has it", _latency(of)),
    ]
    return tuple(rows)


def _share(small: ScaledPlan) -> float:
    return small.servers * small.cache_mib * MIB / small.demand.everything_bytes


def _sizes(sizes: tuple[int, ...]) -> str:
    return f"{len(sizes)}, {format_size(min(sizes))} to {format_size(max(sizes))}"


def _latency(of: Laboratory) -> str:
    latency = of.latency
    tail = f", p99 {latency.latency_p99_ms:g} ms" if latency.latency_p99_ms is not None else ""
    return f"median {latency.latency_ms:g} ms{tail}, random"
