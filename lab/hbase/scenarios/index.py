"""The index of a cache with very many small blocks: its heap, its file, and how long it takes to write and to read."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from lab.hbase.admin import Family
from lab.hbase.cluster import Server
from lab.hbase.experiment import Experiment, Findings, within
from lab.hbase.heap import Histogram, class_histogram
from lab.hbase.overlay import PERSIST_INTERVAL_MS, varied
from lab.hbase.result import Figure, Kind, Target
from lab.hbase.ycsb import Table
from sizing.heap import index_bytes_per_block
from sizing.miniature import Miniature, Small, miniature_demand
from sizing.persistence import INDEX_BYTES_PER_BLOCK
from sizing.problem import OperationFailed
from sizing.restart import RESTORE_SECONDS_PER_BLOCK
from sizing.units import KIB, MIB

__all__ = ["QUESTION", "TITLE", "restore_seconds", "run"]

TITLE: Final = "The index of the cache"
QUESTION: Final = (
    "What does one cached block cost on the heap and in the index file, and how fast is the index read back?"
)
BLOCK_BYTES: Final = 4 * KIB
DATA_FRACTION: Final = 0.5
PREFETCHED_SECONDS: Final = 600.0
RESTORING: Final = re.compile(r"^(\S+) .*Allocating cache")
RESTORED: Final = re.compile(r"^(\S+) .*retrieved from file successfully with size: (\d+)")
STAMP: Final = "%Y-%m-%dT%H:%M:%S,%f"


def run(lab: Experiment) -> Findings:
    """Half the data in blocks of 4 KiB, cached as it is written; then a clean restart."""
    small = _of_small_blocks(lab)
    table = Table(name="small", rows=small.rows, value_bytes=lab.table.value_bytes)
    bench = lab.bench
    settings = {
        "hbase.bucketcache.size": str(small.cache_mib),
        "hbase.bucketcache.bucket.sizes": ",".join(map(str, small.demand.sizes)),
        "hbase.blockcache.minblocksize": str(round(small.demand.blocks.cached_bytes)),
    }
    server = Server(varied=varied(settings, "for blocks of 4 KiB"))
    bench.table(table, Family(name=table.family, compression="NONE", block_bytes=BLOCK_BYTES))
    bench.serve(Server(varied=varied(settings | {"hbase.rs.prefetchblocksonopen": "false"}, "")), cold=True)
    empty, before = class_histogram(bench.cluster), bench.sample(0.0).cache.l2_blocks
    bench.serve(server, cold=True)
    bench.wait_until_still(PREFETCHED_SECONDS)
    time.sleep(2 * PERSIST_INTERVAL_MS / 1000)
    bench.serve(server, cold=False)
    full, cached = class_histogram(bench.cluster), bench.sample(0.0).cache.l2_blocks
    return Findings(
        figures=_figures(lab, (empty, full), cached - before),
        limits=("Heap is counted by class with `jcmd GC.class_histogram`: what is there once for each block.",),
    )


def _of_small_blocks(lab: Experiment) -> Miniature:
    workload = replace(lab.miniature.workload, block_bytes=BLOCK_BYTES, codec="none", compression_ratio=1.0)
    data = round(lab.miniature.workload.stored_bytes * DATA_FRACTION)
    demand = miniature_demand(workload, lab.release, Small(memory_bytes=lab.miniature.heap_mib * MIB, data_bytes=data))
    small = replace(lab.miniature, workload=demand.blocks.workload, demand=demand)
    return replace(small, cache_mib=small.sized(1.0))


def _figures(lab: Experiment, seen: tuple[Histogram, Histogram], blocks: int) -> tuple[Figure, ...]:
    bench, (empty, full) = lab.bench, seen
    collector = bench.cluster.launch.plan.heap.collector
    volume = bench.cluster.place.volumes / "0"
    index = volume / "index" / "bucketcache.index"
    seconds = restore_seconds(bench.cluster.place.log("server-0"))
    return (
        Figure(case="", name="blocks cached", unit="", measured=float(blocks), because="blocks of 4 KiB"),
        Figure(
            case="after a restart",
            name="heap for each cached block",
            unit="B",
            measured=full.growth_bytes(empty, blocks) / blocks,
            predicted=float(index_bytes_per_block(collector)),
            because=f"measured once on HBase 2.6.2 with {collector}",
            target=within(0.1),
        ),
        Figure(
            case="",
            name="index file for each block",
            unit="B",
            measured=index.stat().st_size / blocks,
            predicted=INDEX_BYTES_PER_BLOCK,
            because="measured once on HBase 2.6.2",
            target=within(0.05),
        ),
        Figure(
            case="",
            name="reading the index back",
            unit="s",
            measured=seconds,
            predicted=blocks * RESTORE_SECONDS_PER_BLOCK,
            because=f"{RESTORE_SECONDS_PER_BLOCK * 1e6:.1f} µs a block, one thread",
            target=Target(kind=Kind.WITHIN_FACTOR, bound=1.5),
        ),
    )


def restore_seconds(log: Path) -> float:
    """From the cache's allocation to the line that says it was read back, the last time in this log."""
    began = ended = None
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if found := RESTORING.match(line):
            began = found[1]
        elif found := RESTORED.match(line):
            ended = found[1]
    if began is None or ended is None:
        raise OperationFailed(f"{log}: no lines that tell how long the index took to read back")
    return (datetime.strptime(ended, STAMP) - datetime.strptime(began, STAMP)).total_seconds()  # noqa: DTZ007
