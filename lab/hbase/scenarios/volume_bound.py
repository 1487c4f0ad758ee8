"""Reads bound by the cache's volume: a gp3 at its default, then with the throughput that is bought."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.cluster import LabServer
from lab.hbase.experiment import (
    IN_TURN,
    ROUNDS,
    SAME,
    Experiment,
    ScenarioResult,
    in_turn,
    performance_figures,
    within,
)
from lab.hbase.recording import Sample, Window
from lab.hbase.result import Measurement
from lab.machine.control_groups import ControlGroups, DiskLimits
from lab.machine.control_groups import unavailable as no_groups
from lab.machine.volume import LimitedVolume
from lab.machine.volume import unavailable as no_volumes
from lab.prediction import Expected, LabNode, expected, read_of, timings_of
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import MIB
from warmbase.sizing.service.resource import Disk, disk_bytes_per_read
from warmbase.sizing.workload.read import Hits

TITLE: Final = "Bound by the volume"
QUESTION: Final = "With the cache on a volume like gp3, do throughput and bottleneck agree with the calculator?"
DEFAULT_MIB_S: Final = 125  # gp3's default
DEFAULT_IOPS: Final = 3_000
HEAP_MIB: Final = 1_024
CLIENTS: Final = 64
"""The number of clients: enough that the volume always has a queue, as in the published benchmark."""
WINDOWS: Final = 4
"""A window long enough that the start of so many clients, which look up every region, is a small part of it."""
CONNECTED_SECONDS: Final = 10.0
"""judgement: by then each client has looked up the regions that it reads, on a slow day too."""
# judgement: the memory of a lab RegionServer beside its heap, until the cache is warm.
BESIDE_HEAP_BYTES: Final = 768 * MIB
# judgement: the JVM and its jars take half of it; with less, they are read from disk repeatedly.
PAGE_CACHE_BYTES: Final = 160 * MIB
SPARE_BYTES: Final = 512 * MIB
DISK_LATENCY_SECONDS: Final = 0.2e-3  # judgement: a local virtual disk; gp3 has about 1 ms
ALL_HIT: Final = Hits(ratio=1.0)
KB: Final = 1_000
NEARLY: Final = 0.9
"""The least use of a resource that is called the bottleneck."""


class DeviceRead(Struct, frozen=True, kw_only=True):
    """A window of reads, the device's traffic while the load ran, and the resource that was at least nearly used up."""

    window: Window
    bytes_per_second: float
    ios_per_second: float
    limit: str

    @property
    def per_second(self) -> float:
        """Return the reads a second while all clients were connected."""
        return steady_per_second(self.window.samples, self.window.load.seconds)


def run(lab: Experiment) -> ScenarioResult:
    """Each throughput with the cache kept out of the page cache. Says why not where a disk cannot be limited."""
    reason = no_volumes() or no_groups()
    if reason is not None:
        return ScenarioResult.not_shown(f"{reason}. Reads would come from the page cache.")
    lab = lab.filled()
    cluster, default_mib_s = lab.bench.cluster, lab.volume_mib_s
    planned_mib_s = cluster.launch.plan.core.volume("cache").throughput_mib_s
    more_than_default = planned_mib_s > DEFAULT_MIB_S
    bought_mib_s = round(default_mib_s * (planned_mib_s / DEFAULT_MIB_S if more_than_default else 2.0))
    default = f"gp3's default, {default_mib_s} MiB/s here"
    bought = f"{'as planned' if more_than_default else 'twice that'}, {bought_mib_s} MiB/s here"
    cluster.stop_server()
    with ExitStack() as stack:
        volume = stack.enter_context(lab.volume("limited", lab.miniature.cache_mib * MIB + SPARE_BYTES))
        group = stack.enter_context(ControlGroups(id=f"volume-{cluster.running['master'].id}"))
        stack.callback(cluster.stop_server)
        figures = _served(lab, volume, group, {default: default_mib_s, bought: bought_mib_s})
        cluster.stop_server()
        volume.switch_read_ahead_off()
        without_read_ahead = _served(lab, volume, group, {f"{default}, read-ahead off": default_mib_s})
        # The calculator has no model of read-ahead; this measures the effect of switching it off.
        figures += [replace(figure, predicted=None, target=None) for figure in without_read_ahead]
    return ScenarioResult(
        figures=tuple(figures),
        limits=(
            "A control group limits the device; EBS limits the volume and the instance, and allows bursts.",
            (
                f"gp3's {DEFAULT_MIB_S} MiB/s and {DEFAULT_IOPS:,} IO/s are scaled down, because two cores could not "
                "use twice as much."
            ),
            f"{CLIENTS} clients read here; the published benchmark has 1,000 clients on ten servers.",
        ),
    )


def _served(
    lab: Experiment, volume: LimitedVolume, group: ControlGroups, cases: Mapping[str, int]
) -> list[Measurement]:
    """Return a server on that volume, its cache full, with each throughput, nothing answered by the page cache.

    The first is the control of the others.
    """
    bench, miniature = lab.bench, lab.miniature
    group.limit_memory(HEAP_MIB * MIB + BESIDE_HEAP_BYTES + miniature.cache_mib * MIB // 4)
    bench.cluster.start_server(LabServer(heap_mib=HEAP_MIB, groups=group.paths, volume=volume.mount_point))
    bench.await_regions()
    bench.wait_until_still()
    bench.measure(lab.table, lab.quick(lab.seconds))
    group.limit_memory(group.anonymous_bytes + PAGE_CACHE_BYTES)
    # These are the IOPS that gp3 includes, at the same scale; more throughput comes without more IOPS.
    iops = round(DEFAULT_IOPS * lab.volume_mib_s / DEFAULT_MIB_S)
    limits = [DiskLimits.of_volume(mib_s * MIB, iops) for mib_s in cases.values()]
    control, *others = [partial(_read, lab, volume, group, limit) for limit in limits]
    with uncached(volume.mount_point / "cache" / "blocks"):
        turns = in_turn(control, others, ROUNDS if others else 0)
    figures, ratios, slowest = list[Measurement](), list[Measurement](), 0.0
    for number, (case, mib_s) in enumerate(cases.items()):
        disk = Disk(kind="ebs", bytes_per_second=mib_s * MIB, ios_per_second=iops, latency_seconds=DISK_LATENCY_SECONDS)
        node = LabNode(vcpus=lab.cores, handlers=bench.cluster.launch.plan.handlers, disk=disk, clients=CLIENTS)
        predicted = expected(node, read_of(miniature), ALL_HIT, timings_of(miniature))
        figures += _figures(lab, case, turns.of(number - 1) if number else turns.controls, predicted)
        if number == 0:
            slowest = predicted.load.reads_per_second
            continue
        ratios.append(
            Measurement(
                case=f"{case}, against {next(iter(cases))}",
                name="throughput",
                unit="x",
                measured=turns.ratio(number - 1, lambda read: read.per_second),
                predicted=predicted.load.reads_per_second / slowest,
                because=IN_TURN,
                target=within(0.1),
            )
        )
    return figures + ratios


def _read(lab: Experiment, volume: LimitedVolume, group: ControlGroups, limits: DiskLimits) -> DeviceRead:
    group.limit_disk(volume, limits)
    lab.bench.measure(lab.table, lab.quick(lab.seconds / 3))
    before = volume.traffic
    window = lab.bench.measure(lab.table, lab.load(threads=CLIENTS, seconds=WINDOWS * lab.seconds))
    after, seconds = volume.traffic, window.measured.reads / window.measured.operations_per_second
    bytes_per_second = (after.read_bytes - before.read_bytes) / seconds
    ios_per_second = (after.reads - before.reads) / seconds
    if bytes_per_second >= NEARLY * (limits.read_bytes_per_second or 0):
        limit = "ebs-throughput"
    elif ios_per_second >= NEARLY * (limits.read_iops or 0):
        limit = "ebs-iops"
    else:
        limit = "cpu" if window.idle is not None and window.idle <= 1 - NEARLY else "concurrency"
    return DeviceRead(window=window, bytes_per_second=bytes_per_second, ios_per_second=ios_per_second, limit=limit)


def steady_per_second(samples: Sequence[Sample], seconds: float) -> float:
    """Reads a second of a load of so many seconds, once all clients are connected and before the first has ended.

    Raises OperationFailed where nothing was read for so long.
    """
    first = next((sample.seconds for sample in samples if sample.cache.reads > samples[0].cache.reads), seconds)
    begin, end = first + CONNECTED_SECONDS, first + seconds - CONNECTED_SECONDS
    steady = [sample for sample in samples if begin <= sample.seconds <= end]
    if len(steady) <= 1:
        raise OperationFailed.of(
            where="volume-bound",
            what="the clients read for too short a time",
            why="connecting took most of the window",
            fix="longer windows (--seconds)",
        )
    reads = steady[-1].cache.reads - steady[0].cache.reads
    return reads / (steady[-1].seconds - steady[0].seconds)


def _figures(lab: Experiment, case: str, reads: Sequence[DeviceRead], predicted: Expected) -> tuple[Measurement, ...]:
    figure, last = partial(Measurement, case=case), reads[-1]
    counted = "according to its own counters, while the load ran"
    return (
        figure(
            name="throughput",
            unit="reads/s",
            measured=mean(read.per_second for read in reads),
            predicted=predicted.load.reads_per_second,
            because=f"mean-value analysis, {CLIENTS} clients; the page cache answers no read. Mean of {len(reads)} "
            f"windows by the server's own count, from {CONNECTED_SECONDS:.0f} s after its first read on, when every "
            "client is connected",
            target=within(0.1),
        ),
        figure(
            name="bottleneck",
            measured=last.limit,
            predicted=predicted.bottleneck,
            because="the resource that was at least nine tenths used, according to the device's counters and the "
            "cores' idle time",
            target=SAME,
        ),
        figure(name="read from the device", unit="MiB/s", measured=last.bytes_per_second / MIB, because=counted),
        figure(
            name="of the device for a read",
            unit="kB",
            measured=last.bytes_per_second / last.window.measured.operations_per_second / KB,
            predicted=disk_bytes_per_read(read_of(lab.miniature), ALL_HIT) / KB,
            because="one block, and the rest of its first and last page",
        ),
        figure(name="operations of the device", unit="IO/s", measured=last.ios_per_second, because=counted),
        *performance_figures(case, last.window, "from the limited volume")[1:],
    )


# judgement: at 100 MiB/s, 5 MiB of a file of some hundred are cached in a twentieth of a second.
EVERY_SECONDS: Final = 0.05


@contextmanager
def uncached(file: Path, every_seconds: float = EVERY_SECONDS) -> Iterator[None]:
    """Drop the file's clean pages repeatedly while the block runs. Raises OSError where the file cannot be opened."""
    ended = threading.Event()
    handle = os.open(file, os.O_RDONLY)

    def drop() -> None:
        while True:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            if ended.wait(every_seconds):
                return

    try:
        # Pages that are not written yet would stay cached.
        os.fsync(handle)
        thread = threading.Thread(target=drop, name=f"drop-{file.name}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
    finally:
        os.close(handle)
