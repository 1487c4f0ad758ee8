"""Three RegionServers whose volumes are the limit, read evenly and with popular regions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from statistics import mean
from typing import Final

from msgspec import Struct

from lab.hbase.cluster import LabServer
from lab.hbase.experiment import IN_TURN, LEAST_IDLE, Experiment, ScenarioResult, at_least, in_turn, within
from lab.hbase.recording import Window
from lab.hbase.result import Measurement
from lab.hbase.scenarios.volume_bound import DISK_LATENCY_SECONDS, steady_per_second, uncached
from lab.machine import OwnCpu
from lab.machine.control_groups import ControlGroups, DiskLimits
from lab.machine.control_groups import unavailable as no_groups
from lab.machine.volume import unavailable as no_volumes
from lab.prediction import LabNode, read_of, region_shares, server_shares, skewed_load, timings_of
from warmbase.ground.units import MIB
from warmbase.sizing.service.queueing import LoadResult
from warmbase.sizing.service.resource import Disk

TITLE: Final = "Popular regions"
QUESTION: Final = (
    "How much less does a cluster serve if some regions are read more than others, and volumes are the limit?"
)
SERVERS: Final = 3
VOLUME_MIB_S: Final = 8
"""judgement: some 120 blocks a second from each volume; two cores read 2,500 a second from memory."""
IOPS: Final = 3_000 * VOLUME_MIB_S // 125
"""gp3's own, at the same scale as the throughput."""
SKEW: Final = 1.0
CLIENTS: Final = 48
"""The number of clients: enough that every volume has a queue in most moments."""
BESIDE_HEAP_BYTES: Final = 640 * MIB
# judgement: the JVM and its jars take half of it; with less, they are read from disk repeatedly.
PAGE_CACHE_BYTES: Final = 160 * MIB
SPARE_BYTES: Final = 512 * MIB


class ReadWindow(Struct, frozen=True, kw_only=True):
    """A window of reads, each server's reads in it, and the share of the cores that the lab's processes left idle."""

    window: Window
    reads: tuple[int, ...]
    spare_cores: float

    @property
    def per_second(self) -> float:
        """Return the reads a second, once all clients are connected."""
        return steady_per_second(self.window.samples, self.window.load.seconds)


def run(lab: Experiment) -> ScenarioResult:
    """Return both cases, measured in turn, or the reason why no disk can be limited here.

    Each server is on a volume of its own, in control groups of its own. The caches are filled and kept out of the page
    cache, and then the volumes are limited.
    """
    reason = no_volumes() or no_groups()
    if reason is not None:
        return ScenarioResult.not_shown(f"{reason}. Reads would come from the page cache.")
    lab = lab.filled()
    bench, cluster, miniature = lab.bench, lab.bench.cluster, lab.miniature
    first_limit_bytes = (miniature.heap_mib + miniature.cache_mib // 4) * MIB + BESIDE_HEAP_BYTES
    cluster.stop_servers()
    with ExitStack() as stack:
        servers, limited = [], []
        for number in cluster.numbers:
            size_bytes = miniature.cache_mib * MIB + SPARE_BYTES
            volume = stack.enter_context(lab.volume(f"limited-{number}", size_bytes))
            group = stack.enter_context(ControlGroups(id=f"skew-{number}-{cluster.running['master'].id}"))
            group.limit_memory(first_limit_bytes)
            servers.append(LabServer(number=number, groups=group.paths, volume=volume.mount_point))
            limited.append((volume, group))
        stack.callback(cluster.stop_servers)
        cluster.start_servers(servers)
        bench.await_regions()
        bench.wait_until_full(miniature.demand.blocks.count)
        bench.measure(lab.table, lab.quick(lab.seconds / 2))
        with ExitStack() as reading:
            for volume, group in limited:
                group.limit_memory(group.anonymous_bytes + PAGE_CACHE_BYTES)
                reading.enter_context(uncached(volume.mount_point / "cache" / "blocks"))
                group.limit_disk(volume, DiskLimits.of_volume(VOLUME_MIB_S * MIB, IOPS))
            turns = in_turn(partial(_read, lab, 0.0), [partial(_read, lab, SKEW)])
        homes = [cluster.number_of(server) for server in bench.admin.regions(lab.table.name).values()]
    disk = Disk(
        kind="ebs",
        bytes_per_second=VOLUME_MIB_S * MIB,
        ios_per_second=IOPS,
        latency_seconds=DISK_LATENCY_SECONDS,
    )
    node = LabNode(vcpus=lab.cores, handlers=cluster.launch.plan.handlers, disk=disk, clients=CLIENTS)
    shares = [server_shares(region_shares(miniature.regions, skew), homes) for skew in (0.0, SKEW)]
    loads = [skewed_load(node, read_of(miniature), of_servers, timings_of(miniature)) for of_servers in shares]
    return ScenarioResult(
        figures=(
            *_figures("every region read equally often", turns.controls, loads[0], max(shares[0])),
            *_figures(f"regions read by Zipf's law with exponent {SKEW:g}", turns.of(0), loads[1], max(shares[1])),
            Measurement(
                case="popular regions compared with equal ones",
                name="throughput",
                unit="x",
                measured=turns.ratio(0, lambda item: item.per_second),
                predicted=loads[1].reads_per_second / loads[0].reads_per_second,
                because=IN_TURN,
                target=within(0.1),
            ),
        ),
        limits=(
            f"Each volume is limited to {VOLUME_MIB_S} MiB/s, because two cores could not use up three gp3 volumes.",
            "The three servers share the cores of one machine, but each has its own volume.",
        ),
    )


def _read(lab: Experiment, skew: float) -> ReadWindow:
    cluster = lab.bench.cluster
    before, used = [cluster.counters(number) for number in cluster.numbers], OwnCpu()
    load = lab.load(threads=CLIENTS, seconds=3 * lab.seconds, by_region=(lab.miniature.regions, skew))
    window = lab.bench.measure(lab.table, load)
    spare_cores = 1 - used.cores() / lab.cores
    after = [cluster.counters(number) for number in cluster.numbers]
    pairs = zip(filter(None, after), filter(None, before), strict=True)
    reads = tuple(later.reads - earlier.reads for later, earlier in pairs)
    return ReadWindow(window=window, reads=reads, spare_cores=spare_cores)


def _figures(case: str, windows: Sequence[ReadWindow], load: LoadResult, busiest: float) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case=case)
    idle = [item.window.idle for item in windows if item.window.idle is not None]
    return (
        figure(
            name="throughput",
            unit="reads/s",
            measured=mean(item.per_second for item in windows),
            predicted=load.reads_per_second,
            because=f"mean-value analysis of {CLIENTS} clients and one volume per server, which is visited as often as "
            f"its server is read; mean of {len(windows)} windows",
            target=within(0.1),
        ),
        figure(
            name="reads of the busiest server",
            measured=mean(max(item.reads) / sum(item.reads) for item in windows),
            predicted=busiest,
            because="the popularity of each server's regions, summed",
            target=within(0.05),
        ),
        figure(
            name="cores that the lab leaves idle",
            measured=min(item.spare_cores for item in windows),
            because="the share of all cores that no process of the lab used; the cores are not the limit",
            target=at_least(LEAST_IDLE),
        ),
        *(
            figure(name="idle cores", measured=fraction, because="including everything else on this machine")
            for fraction in sorted(idle)[:1]
        ),
    )
