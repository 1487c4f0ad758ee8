"""Restarts of the EMR benchmark's RegionServers, with their cache lost and with it kept."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from published.benchmark import Benchmark
from published.benchmark_numbers import NODE_CACHE_GB
from published.figure import PublishedFigure, model_figure
from sizing.restart import retention_window_seconds
from sizing.units import GIB, SECONDS_PER_HOUR, format_duration

TABLE: Final = "table of restarts"
RETRIES: Final = 10
NODES: Final = 3
REGION_BYTES: Final = 10 * GIB  # HBase's default of `hbase.hregion.max.filesize`


def restart_figures(benchmark: Benchmark) -> tuple[PublishedFigure, ...]:
    """How long it takes, and how long the master waits."""
    return (_lost_cache(benchmark), _persistent_cache(benchmark), _retries(benchmark))


def _lost_cache(benchmark: Benchmark) -> PublishedFigure:
    volume = benchmark.cache_volume
    node_seconds = max(NODE_CACHE_GB) * 10**9 / volume.bytes_per_second
    return model_figure(
        what="recovery without persistent cache",
        place=TABLE,
        published="~6",
        ours=benchmark.plan.warm_up.prefetch_seconds / SECONDS_PER_HOUR,
        unit="h",
        how=f"prefetch of all blocks at {volume.throughput_mib_s} MiB/s a node, shared with reads",
        remark="The source takes 24 h to 95 % in one table and 6 h in the other. The 20 GB a node that its graphs show "
        f"would take {format_duration(node_seconds)}.",
    )


def _persistent_cache(benchmark: Benchmark) -> PublishedFigure:
    large = benchmark.plan.restart
    return model_figure(
        what="recovery with persistent cache",
        place=TABLE,
        published="<2",
        ours=_small(benchmark).plan.restart.seconds / 60,
        unit="min",
        how="three nodes with 20 GB of cache each: boot, pre-touch, index, regions of 10 GiB",
        remark=f"With the benchmark's {benchmark.candidate.cache_mib / 1024:,.0f} GiB of cache a node, a restart takes "
        f"{format_duration(large.seconds)}. Nobody should promise two minutes for a terabyte.",
    )


def _retries(benchmark: Benchmark) -> PublishedFigure:
    large = benchmark.plan.restart
    return model_figure(
        what="`hbase.master.scp.retain.assignment.force.retries`",
        place="configuring persistent bucket cache",
        published=f"{RETRIES}",
        ours=large.retain_retries,
        unit="retries",
        how="50 ms x (2^retries - 1) must cover one and a half restarts with a full cache",
        remark=f"{RETRIES} retries end after {format_duration(retention_window_seconds(RETRIES))}; then the regions "
        f"move to other servers, and the cache is lost. {large.retain_retries} retries last "
        f"{format_duration(large.retention_window_seconds)}, and the regions of a dead server wait as long.",
    )


def _small(benchmark: Benchmark) -> Benchmark:
    """The cluster of the restart test: three nodes whose caches hold 20 GB each."""
    requirements = benchmark.requirements
    stored_bytes = NODES * max(NODE_CACHE_GB) * 10**9
    workload = replace(requirements.workload, stored_bytes=stored_bytes, regions=-(-stored_bytes // REGION_BYTES))
    core = replace(requirements.cluster.core, count=NODES)
    changed = replace(requirements, workload=workload, cluster=replace(requirements.cluster, core=core))
    return replace(benchmark, requirements=changed)
