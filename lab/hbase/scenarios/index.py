"""The index of a cache with very many small blocks: its heap, its file, and how long it takes to read back."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.admin import TableFamily
from lab.hbase.bench import Bench
from lab.hbase.cluster import LabServer, Restored, restored
from lab.hbase.configuration import PERSIST_INTERVAL_MS, varied
from lab.hbase.experiment import Experiment, ScenarioResult, within, within_factor
from lab.hbase.result import Measurement
from lab.hbase.ycsb import YcsbTable
from lab.prediction import Numbers, entry_bytes
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import KIB, MIB
from warmbase.sizing.server.memory import index_bytes_per_block, live_index_bytes
from warmbase.sizing.server.restart import INDEX_BYTES_PER_BLOCK, restore_seconds

TITLE: Final = "The index of the cache"
QUESTION: Final = "How much heap and index file does one cached block need, and how fast is the index read back?"
BLOCK_BYTES: Final = KIB
FEW_BLOCKS: Final = 2_000.0
WHY: Final = "for blocks of 1 KiB"
SETTLING_SECONDS: Final = 180.0
LINE: Final = re.compile(r"^\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)", re.MULTILINE)
COLLECTION_SECONDS: Final = 60.0
PER_BLOCK: Final = 0.2
"""The least instances for each block of a class that counts: the upper levels of a skip list have a third as many."""
TABLE: Final = "[Ljava.util.concurrent.ConcurrentHashMap$Node;"
"""The class of the tables of hash maps: the cache has one, which is created when its first block is cached."""


class Histogram(Struct, frozen=True, kw_only=True):
    """The objects on a RegionServer's heap by class: instances and bytes."""

    classes: Mapping[str, tuple[int, int]]

    def growth_bytes(self, earlier: Histogram, blocks: int) -> int:
        """Return the growth in bytes of hash tables, and of classes that grew by about one instance for each block."""
        grown = 0
        for name, (count, size) in self.classes.items():
            before, bytes_before = earlier.classes.get(name, (0, 0))
            if name == TABLE or count - before >= PER_BLOCK * blocks:
                grown += size - bytes_before
        return grown


def run(lab: Experiment) -> ScenarioResult:
    """Return the data in blocks of 1 KiB: few of them cached by reads, then all by prefetch, each time restarted."""
    bench = lab.bench
    small = lab.scaled(block_bytes=BLOCK_BYTES, codec="none", compression_ratio=1.0)
    small = replace(small, cache_mib=small.sized(1.0))
    table = YcsbTable(name="small", rows=small.rows, value_bytes=lab.table.value_bytes)
    block_bytes, cache_bytes = round(small.demand.blocks.cached_bytes), small.cache_mib * MIB
    settings = {
        "hbase.bucketcache.size": str(small.cache_mib),
        "hbase.bucketcache.bucket.sizes": ",".join(map(str, small.demand.sizes)),
        "hbase.blockcache.minblocksize": str(block_bytes),
    }
    bench.table(table, TableFamily(name=table.family, compression="NONE", block_bytes=BLOCK_BYTES))
    reads = LabServer(varied=varied(settings | {"hbase.rs.prefetchblocksonopen": "false"}, WHY))
    bench.serve(reads, cold=True)
    empty = _class_histogram(bench)
    bench.settle(table, lab.quick(SETTLING_SECONDS), FEW_BLOCKS)
    few = _restored(bench, reads)
    prefetches = LabServer(varied=varied(settings, WHY))
    bench.serve(prefetches, cold=True)
    bench.wait_until_still()
    full = _restored(bench, prefetches)
    cached, blocks = _class_histogram(bench), full.blocks
    index = bench.cluster.place.volumes / "0" / "index" / "bucketcache.index"
    numbers = Numbers(
        file_bytes=small.workload.stored_bytes / small.regions,
        cache_bytes=cache_bytes,
        block_bytes=block_bytes,
        accesses=blocks,
        up_seconds=time.monotonic(),
    )
    further, figure = blocks - few.blocks, partial(Measurement, case="")
    return ScenarioResult(
        figures=(
            figure(name="blocks cached", measured=float(blocks), because="blocks of 1 KiB"),
            Measurement(
                case="after a restart",
                name="heap for each cached block",
                unit="B",
                measured=cached.growth_bytes(empty, blocks) / blocks,
                predicted=live_index_bytes(blocks, cache_bytes, block_bytes) / blocks,
                because="the objects of one block, and its share of the map's table; a plan reserves "
                f"{index_bytes_per_block(bench.cluster.launch.plan.heap.collector)} B, because a restore leaves a "
                "third as much garbage",
                target=within(0.1),
            ),
            figure(
                name="index file for each block",
                unit="B",
                measured=index.stat().st_size / blocks,
                predicted=entry_bytes(numbers),
                because=f"the fields of an entry with numbers of this size; a plan reserves {INDEX_BYTES_PER_BLOCK} B",
                target=within(0.05),
            ),
            figure(
                name="reading the index back, of each further block",
                unit="µs",
                measured=1e6 * (full.seconds - few.seconds) / further,
                predicted=1e6 * (restore_seconds(blocks) - restore_seconds(few.blocks)) / further,
                because=f"one thread; between {few.blocks:,} blocks in {few.seconds:.3f} s and {blocks:,} in "
                f"{full.seconds:.3f} s, so that the JVM's first actions do not count",
                target=within_factor(1.5),
            ),
        ),
        limits=(
            (
                "Heap is counted with `jcmd GC.class_histogram`, over the classes that have about one instance for "
                "each block."
            ),
        ),
    )


def _restored(bench: Bench, server: LabServer) -> Restored:
    """Restarts the server once its cache is in the index."""
    time.sleep(2 * PERSIST_INTERVAL_MS / 1000)
    bench.serve(server, cold=False)
    return restored(bench.cluster.place.log(server.name))


def _class_histogram(bench: Bench) -> Histogram:
    """Return the classes on the server's heap after a full collection. Raises OperationFailed when the JVM fails."""
    process_id, java = bench.cluster.running["server-0"].id, str(bench.cluster.software.java)
    command = (java, "-m", "jdk.jcmd/sun.tools.jcmd.JCmd", str(process_id), "GC.class_histogram")
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=COLLECTION_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise OperationFailed.of(
            where="server 0",
            what="no class histogram could be read",
            why=str(error),
            fix="run the scenario again; if it happens again, read the server's log",
        ) from None
    return Histogram(classes={name: (int(count), int(size)) for count, size, name in LINE.findall(printed)})
