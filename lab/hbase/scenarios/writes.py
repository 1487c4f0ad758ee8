"""Writes whose log lies on a limited volume: the rate at which HBase blocks, and what flushes and compactions write.

The counters of the RegionServer give figures of the log, the flushes and the store files, beside the calculator's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from math import inf
from statistics import mean
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import fields, replace

from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.configuration import SCALE, varied
from lab.hbase.experiment import IN_TURN, SAME, UNCOMPRESSED, Experiment, ScenarioResult, family_of, in_turn, within
from lab.hbase.hdfs import running_hdfs
from lab.hbase.jmx import SERVER_BEAN, bean
from lab.hbase.result import Measurement
from lab.hbase.ycsb import YcsbTable
from lab.machine.control_groups import buffered_limit_unavailable as no_limits
from lab.machine.control_groups import limited_writes
from lab.machine.volume import LimitedVolume
from lab.machine.volume import unavailable as no_volumes
from lab.prediction import WritingLab, write_limit, writing_server
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.server.writes import WriteResource, WritingServer
from warmbase.sizing.service.resource import Rates

WAL_BEAN: Final = "Hadoop:service=HBase,name=RegionServer,sub=WAL"


class WriteCounters(Struct, frozen=True, kw_only=True):
    """A RegionServer's counters of writes since its start."""

    log_edits: int
    log_bytes: int
    flushes: int
    flushed_heap_bytes: int
    flushed_bytes: int
    compacted_input_bytes: int
    compacted_bytes: int
    blocked_requests: int
    device_bytes: int

    @classmethod
    def of(cls, log: Mapping[str, Any], server: Mapping[str, Any], device_bytes: int) -> Self:
        """Return the counters of its two beans, and of the device below its log."""
        return cls(
            log_edits=int(log["appendCount"]),
            log_bytes=int(log["writtenBytes"]),
            flushes=int(server["FlushTime_num_ops"]),
            flushed_heap_bytes=int(server["flushedMemstoreBytes"]),
            flushed_bytes=int(server["flushedOutputBytes"]),
            compacted_input_bytes=int(server["compactedInputBytes"]),
            compacted_bytes=int(server["compactedOutputBytes"]),
            blocked_requests=int(server["blockedRequestCount"]),
            device_bytes=device_bytes,
        )

    def __sub__(self, earlier: Self) -> WriteCounters:
        """Return the counts between the two."""
        return WriteCounters(
            **{field.name: getattr(self, field.name) - getattr(earlier, field.name) for field in fields(self)}
        )


class WriteWindow(Struct, frozen=True, kw_only=True):
    """The counts of so many seconds of writes."""

    seconds: float
    counts: WriteCounters

    @property
    def per_second(self) -> float:
        """Return the cells that were written in a second; each is one edit of the log."""
        return self.counts.log_edits / self.seconds


def write_counters(cluster: LabCluster, volume: LimitedVolume | None = None) -> WriteCounters:
    """Return the counters as of now, which are a second old at most. Raises OperationFailed without an answer."""
    port = cluster.place.ports.servers_info[0]
    log, server = bean(port, WAL_BEAN), bean(port, SERVER_BEAN)
    if "appendCount" not in log or "flushedMemstoreBytes" not in server:
        raise OperationFailed.of(
            where="server-0",
            what="its counters of writes",
            why="its JMX page does not answer",
            fix=f"read {cluster.place.log('server-0')}",
        )
    return WriteCounters.of(log, server, volume.traffic.written_bytes if volume else 0)


TITLE: Final = "Writes"
QUESTION: Final = "At which rate does HBase block writes, and what do its log, flushes and compactions write?"
CELL_BYTES: Final = 2_000
"""Long enough that a slow volume is full before two cores are busy."""
DATA_BYTES: Final = 128 * MIB
REGIONS: Final = 4
FLUSH_BYTES: Final = 4 * MIB
"""The flush size: a region of 32 MiB is to it what one of 1 GiB is to HBase's default."""
VOLUMES_MIB_S: Final = (1, 2)
"""judgement: some 500 and 1,000 cells a second; at 3,000, two cores are the limit, with S3's server on them, too."""
CLIENTS: Final = 32
SETTLING_SECONDS: Final = 20.0
"""Seconds until the pages that may be dirty are, and the first flushes have been compacted."""
PACED: Final = 3
"""How many times as long the lab waits, and measures, where the clients write at a rate."""
WINDOWS: Final = 2
"""A window of writes, in multiples of a window of reads, so that each region is flushed several times."""
VOLUME_BYTES: Final = 8 * GIB
NEARLY: Final = 0.9
"""The least use of a resource that is called the bottleneck."""
ENDING_SECONDS: Final = 15.0
CARRIED: Final = 0.8
"""The part of the predicted rate that must be carried without blocking."""
TOLERANCE: Final = 0.15


def run(lab: Experiment) -> ScenarioResult:
    """Return writes on volumes of two rates in turn, or the reason why no volume can be limited here.

    Finally, the clients write at a rate that the faster volume should carry.
    """
    reason = no_volumes() or no_limits()
    if reason is not None:
        return ScenarioResult.not_shown(f"{reason}. A log would go to the page cache.")
    small = lab.scaled(DATA_BYTES, cell_bytes=CELL_BYTES, **UNCOMPRESSED)
    table = YcsbTable(name="writes", rows=small.rows, value_bytes=CELL_BYTES)
    lab = replace(lab, table=table, miniature=small)
    cluster = lab.bench.cluster
    lab.bench.table(table, family_of(table, small), REGIONS)
    with ExitStack() as stack:
        volume = stack.enter_context(lab.volume("log", VOLUME_BYTES))
        uri = stack.enter_context(running_hdfs(cluster, volume.mount_point))
        stack.callback(cluster.stop_servers)
        settings = {
            "hbase.wal.dir": f"{uri}/wal",
            "dfs.replication": "1",
            # The asynchronous writer of HBase 2.6.2 as built for Hadoop 2 does not find the classes of Hadoop 3.
            "hbase.wal.provider": "filesystem",
            "hbase.wal.meta_provider": "filesystem",
            "hbase.hregion.memstore.flush.size": str(FLUSH_BYTES),
            "hbase.hstore.compaction.min.size": str(FLUSH_BYTES),
            "hbase.hstore.compaction.max.size.offpeak": None,
            "hbase.offpeak.start.hour": None,
            "hbase.offpeak.end.hour": None,
        }
        server = LabServer(varied=varied(settings, f"a log in HDFS, {SCALE}, and no night"))
        lab.bench.serve(server, cold=True)
        properties = cluster.site(server).properties
        model = writing_server(WritingLab(miniature=small, properties=properties, regions=REGIONS, vcpus=lab.cores))
        limits = [write_limit(model, Rates(bytes_per_second=rate * MIB, ios_per_second=inf)) for rate in VOLUMES_MIB_S]
        slow, fast = (partial(_written, lab, volume, rate) for rate in VOLUMES_MIB_S)
        begun, before = time.monotonic(), write_counters(cluster, volume)
        turns = in_turn(slow, [fast])
        offered = CARRIED * limits[-1].max_bytes_per_second / CELL_BYTES
        carried = _written(lab, volume, VOLUMES_MIB_S[-1], offered)
        counts = write_counters(cluster, volume) - before
        whole = WriteWindow(seconds=time.monotonic() - begun, counts=counts)
    return ScenarioResult(
        figures=(
            *_rate_figures(VOLUMES_MIB_S[0], limits[0], turns.controls),
            *_rate_figures(VOLUMES_MIB_S[1], limits[1], turns.of(0)),
            Measurement(
                case=f"{VOLUMES_MIB_S[-1]} MiB/s against {VOLUMES_MIB_S[0]} MiB/s",
                name="cells written",
                unit="x",
                measured=turns.ratio(0, lambda window: window.per_second),
                predicted=limits[-1].max_bytes_per_second / limits[0].max_bytes_per_second,
                because=IN_TURN,
                target=within(TOLERANCE),
            ),
            Measurement(
                case=f"{CARRIED:.0%} of the rate that {VOLUMES_MIB_S[-1]} MiB/s should allow",
                name="cells written",
                unit="cells/s",
                measured=carried.per_second,
                predicted=offered,
                because="what was offered; no write should wait for the volume. YCSB's clients make up for the writes "
                f"that they are late with, as after the start of their JVM, so the window begins {PACED} times as late "
                "as the others, and is as many times as long",
                target=within(0.05),
            ),
            *_file_figures(model, whole),
        ),
        limits=(
            "The log has one copy here. Parts of uploads lie elsewhere, and the network is this machine's.",
            (
                "The log is written by HBase's `filesystem` provider: the asynchronous one of HBase 2.6.2 as built for "
                "Hadoop 2 does not run on Hadoop 3."
            ),
        ),
    )


def _written(
    lab: Experiment, volume: LimitedVolume, mib_per_second: int, cells_per_second: float | None = None
) -> WriteWindow:
    """Return a window of writes on a volume of that rate, once its dirty pages are as many as they may be."""
    bench, times = lab.bench, PACED if cells_per_second else 1
    settling, seconds = times * SETTLING_SECONDS, times * WINDOWS * lab.seconds
    load = lab.load(
        seconds=settling + seconds + ENDING_SECONDS,
        threads=CLIENTS,
        reads=0.0,
        updates=1.0,
        target_per_second=cells_per_second,
    )
    with limited_writes(volume, mib_per_second * MIB):
        clients = bench.ycsb.start(lab.table, load)
        first = write_counters(bench.cluster, volume).log_edits
        bench.wait_until(lambda _: write_counters(bench.cluster, volume).log_edits > first, SETTLING_SECONDS)
        for _ in range(times):
            earlier, start = write_counters(bench.cluster, volume).log_edits, time.monotonic()
            time.sleep(SETTLING_SECONDS)
            edits = write_counters(bench.cluster, volume).log_edits - earlier
            bench.say(f"  {mib_per_second} MiB/s, settling: {edits / (time.monotonic() - start):,.0f} cells/s")
        before, began = write_counters(bench.cluster, volume), time.monotonic()
        time.sleep(seconds)
        after, ended = write_counters(bench.cluster, volume), time.monotonic()
        clients.kill()
    window = WriteWindow(seconds=ended - began, counts=after - before)
    bench.say(f"  {mib_per_second} MiB/s: {window.per_second:,.0f} cells/s")
    return window


def _rate_figures(mib_per_second: int, limit: WriteResource, windows: Sequence[WriteWindow]) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case=f"log on {mib_per_second} MiB/s")
    used = mean(window.counts.device_bytes / window.seconds for window in windows) / (mib_per_second * MIB)
    return (
        figure(
            name="cells written before HBase blocks",
            unit="cells/s",
            measured=mean(window.per_second for window in windows),
            predicted=limit.max_bytes_per_second / CELL_BYTES,
            because=f"the calculator's smallest resource of writes; {CLIENTS} clients write as fast as they are "
            f"answered, and each cell is one edit of the log; mean of {len(windows)} windows",
            target=within(TOLERANCE),
        ),
        figure(
            name="bottleneck",
            measured="log-throughput" if used >= NEARLY else "another",
            predicted=limit.name,
            because="the volume's own counter was at least nine tenths of its limit",
            target=SAME,
        ),
        figure(name="use of the volume", measured=used, because="bytes that its device wrote, over its limit"),
        figure(
            name="writes blocked by memstore or store files",
            measured=float(sum(window.counts.blocked_requests for window in windows)),
            predicted=0.0,
            because="HBase's `blockedRequestCount`: the log is the limit, and flushes and compactions keep up",
            target=SAME,
        ),
    )


def _file_figures(model: WritingServer, whole: WriteWindow) -> tuple[Measurement, ...]:
    """Return the bytes that log, flushes and compactions write in the whole time, measured and predicted."""
    counts, minutes = whole.counts, whole.seconds / 60
    flushed_cells = counts.flushed_heap_bytes / model.cells.key_value_bytes
    log, files = partial(Measurement, case="the log", unit="B"), partial(Measurement, case="store files")
    return (
        log(
            name="of the log for a cell",
            measured=counts.log_bytes / counts.log_edits,
            predicted=model.cells.log_bytes,
            because="HBase's `writtenBytes` over its edits",
            target=within(0.05),
        ),
        log(
            name="of the volume for a cell",
            measured=counts.device_bytes / counts.log_edits,
            predicted=model.log_bytes,
            because="one copy of the log with HDFS's checksums",
            target=within(TOLERANCE),
        ),
        files(
            name="cells of a flush",
            measured=flushed_cells / counts.flushes,
            predicted=model.flush_cells,
            because="the flush size over the heap of a cell; measured by the bytes of the flushed cells",
            target=within(TOLERANCE),
        ),
        files(
            name="flushes",
            unit="a minute",
            measured=counts.flushes / minutes,
            predicted=counts.log_edits / model.flush_cells / minutes,
            because="the cells that were written, over those of a flush",
            target=within(TOLERANCE),
        ),
        files(
            name="store file of a cell",
            unit="B",
            measured=counts.flushed_bytes / flushed_cells,
            predicted=model.cells.stored_bytes,
            because="bytes of the files of flushes, over the cells in them",
            target=within(TOLERANCE),
        ),
        files(
            name="write amplification",
            unit="x",
            measured=1 + counts.compacted_bytes / counts.flushed_bytes,
            predicted=model.settings.amplification,
            because="bytes of all store files over those of flushes. `hbase.hstore.compaction.min.size` is one flush, "
            "as in the plan; its default of 128 MiB would rewrite these small regions with every second flush",
            target=within(TOLERANCE),
        ),
        files(
            name="read by compactions",
            unit="x",
            measured=counts.compacted_input_bytes / counts.flushed_bytes,
            predicted=model.settings.amplification - 1,
            because="bytes of the files that compactions read, over those of flushes",
        ),
    )
