"""Reads warm three caches; one server is restarted, one killed, and one loses its cache: all figures of the graphs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from lab.hbase.cluster import LabServer
from lab.hbase.cluster_recorder import ClusterRecorder
from lab.hbase.cluster_recording import DRAWN_SECONDS, ClusterRecording
from lab.hbase.configuration import varied
from lab.hbase.experiment import Experiment, ScenarioResult
from lab.hbase.result import Measurement
from lab.hbase.scenarios.crash import victim
from lab.hbase.scenarios.volume_bound import uncached
from lab.machine.volume import LimitedVolume
from lab.machine.volume import unavailable as no_volumes
from warmbase.ground.units import MIB
from warmbase.sizing.recovery.warmth import target

TITLE: Final = "What the dashboards draw"
QUESTION: Final = (
    "What do all graphs of the dashboards show during a warm-up, a restart, a kill and the loss of a cache?"
)
SERVERS: Final = 3
READS_PER_SECOND: Final = 150.0  # judgement: warms a cold cache in two minutes, and leaves two cores time for a restart
WRITES: Final = 0.05
THREADS: Final = 64
LOAD_SECONDS: Final = 3600.0  # longer than the run; the load ends with it
IMPATIENT: Final = {
    "hbase.client.retries.number": "1",
    "hbase.client.operation.timeout": "1000",
    "hbase.client.meta.operation.timeout": "1000",
    "hbase.rpc.timeout": "1000",
}
"""The clients give up after a second, so that they go on reading from the servers that answer."""
WARM_SECONDS: Final = {False: 130.0, True: 30.0}
"""The seconds of reads before the first event, full and short."""
CALM_SECONDS: Final = {False: 35.0, True: 10.0}
"""The seconds of reads after a server is back with its cache."""
REFILL_SECONDS: Final = {False: 100.0, True: 20.0}
VOLUME_FILL: Final = 0.8  # judgement: close to the share of a volume that a cache takes in a plan
SPARE_MIB: Final = 24  # the file system's own blocks, and the index twice
MINUTE_MS: Final = 60_000
ATTENTIVE: Final = varied(
    {
        "hbase.metrics.rit.stuck.warning.threshold": str(MINUTE_MS // DRAWN_SECONDS),
        "hbase.assignment.rit.chore.interval.msec": str(MINUTE_MS // DRAWN_SECONDS),
    },
    f"a minute, {DRAWN_SECONDS} times shorter, like everything that is recorded",
)
RESTARTED: Final = "restart"
KILLED: Final = "kill"
LOST: Final = "cache lost"


def run(lab: Experiment) -> ScenarioResult:
    """Record three servers under load. If they cannot have volumes, the result states the reason.

    Reads warm the caches. The server with hbase:meta is restarted, another is killed, and the third loses its cache.
    """
    if (reason := no_volumes()) is not None:
        return ScenarioResult.not_shown(f"{reason}.")
    lab = lab.filled()
    bench, cluster, short = lab.bench, lab.bench.cluster, lab.short
    persist_ms = cluster.launch.plan.persistence.interval_ms // DRAWN_SECONDS
    server = LabServer(
        varied=varied(
            {
                "hbase.bucketcache.persist.intervalinmillis": str(persist_ms),
                "hbase.rs.prefetchblocksonopen": "false",
            },
            f"the plan's interval, {DRAWN_SECONDS} times shorter, and no prefetch, so that reads warm the caches",
        )
    )
    load = lab.load(
        seconds=LOAD_SECONDS,
        threads=THREADS,
        target_per_second=READS_PER_SECOND,
        reads=1 - WRITES,
        updates=WRITES,
    )
    size_bytes = round((lab.miniature.cache_mib + SPARE_MIB) * MIB / VOLUME_FILL)
    cluster.stop_servers()
    with ExitStack() as stack:
        volumes = [stack.enter_context(lab.volume(str(number), size_bytes)) for number in cluster.numbers]
        stack.callback(cluster.stop_servers)
        bench.serve(server, cold=True)
        cluster.restart_master(ATTENTIVE)
        bench.await_regions()
        bench.store.set(bench.latency)
        recorder = ClusterRecorder(cluster=cluster, store=bench.store, volumes=volumes)
        with bench.ycsb.steady(lab.table, load, IMPATIENT), recorder.running():
            restarted, killed = victim(lab, has_meta=True), victim(lab, has_meta=False)
            [lost] = set(cluster.numbers) - {restarted, killed}
            servers = cluster.alike(server)
            with _from_disk(volumes):
                time.sleep(WARM_SECONDS[short])
                recorder.event(restarted, RESTARTED)
                cluster.stop_server(restarted)
                cluster.start_server(servers[restarted])
                time.sleep(CALM_SECONDS[short])
                recorder.event(killed, KILLED)
                cluster.kill_server(killed)
                cluster.start_server(servers[killed])
                time.sleep(CALM_SECONDS[short])
            recorder.event(lost, LOST)
            cluster.stop_server(lost)
            cluster.clear_cache(lost)
            cluster.start_server(servers[lost])
            with _from_disk(volumes):
                time.sleep(REFILL_SECONDS[short])
        # A plan has these figures, too; here they are those of the recorded servers, at their own scale.
        cache_bytes = lab.miniature.cache_mib * MIB
        warm = target(cache_bytes, lab.miniature.demand.everything_bytes / SERVERS)
        limits = {
            "heap_mib": lab.miniature.heap_mib,
            "cache_bytes": cache_bytes,
            "warm_fill": round(warm.warm_bytes / cache_bytes, 3),
        }
        recording = ClusterRecording(limits=limits, events=tuple(recorder.events), samples=tuple(recorder.samples))
    return ScenarioResult(
        figures=tuple(_figures(recording)),
        limits=(
            f"A recorded second stands for {DRAWN_SECONDS}, and HBase's own intervals are shorter by that factor.",
            "The three servers share one machine: its memory, file system and I/O wait are those of all three.",
        ),
        cluster_recording=recording,
    )


@contextmanager
def _from_disk(volumes: Sequence[LimitedVolume]) -> Iterator[None]:
    """Keep the cache files out of the page cache, so that the volumes answer the reads."""
    with ExitStack() as stack:
        for volume in volumes:
            stack.enter_context(uncached(volume.mount_point / "cache" / "blocks"))
        yield


def _figures(recording: ClusterRecording) -> Iterator[Measurement]:
    """Return what is left of each server's cache after its event, and how long the server did not answer."""
    for event in recording.events:
        samples = [(sample.seconds, sample.servers[event.server]) for sample in recording.samples]
        before = [figures for second, figures in samples if second < event.seconds and figures][-1]
        back, after = next(
            (second, figures) for second, figures in samples if figures and figures["started"] > event.seconds
        )
        yield Measurement(
            case=event.what,
            name="share of its cached bytes that the server has when it answers again",
            measured=after["l2CacheSize"] / before["l2CacheSize"],
            because="from the last sample before the event and the first sample after it",
        )
        yield Measurement(
            case=event.what,
            name="seconds until it answers again",
            unit="s",
            measured=back - event.seconds,
            because="until the counters of the new process can be read; its regions open later",
        )
