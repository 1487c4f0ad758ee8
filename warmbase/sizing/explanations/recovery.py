"""Why the hours after a failure or a launch last as long as they do.

They are the restart and the dumps of the index that it needs, a lost node, the initial load, cold caches that warm up
while the cluster serves, and a snapshot that leaves the cluster or comes back.
"""

from __future__ import annotations

from warmbase.sizing.explanation import Explanation, Quantity, explain
from warmbase.sizing.explanations.quantities import (
    MILLISECONDS,
    WHOLE,
    computed,
    constant,
    fact,
    figure,
    pinned,
    setting,
)
from warmbase.sizing.recovery import bad_hours, export
from warmbase.sizing.recovery.bad_hours import load_bytes, log_bytes_per_second, network_bytes_per_second, warm_seconds
from warmbase.sizing.recovery.export import Copy, export_copy, import_copy
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.server import region_server, restart
from warmbase.sizing.server.cold_start import ColdStart
from warmbase.sizing.server.region_server import fill_seconds, index_format
from warmbase.sizing.server.restart import index_bytes_per_block

MASTER = "HBase 2.6.2 ServerManager"


def persistence_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the size of the persisted index, how often it is written, and how long a stop may take."""
    if not candidate.cache_mib:
        return {"persistence.stop_timeout_seconds": _stop()}
    index = candidate.region_server.persistence
    dump = computed(index.dump_seconds, "s", "warmbase.sizing.server.restart.dump_seconds")
    return {
        "persistence.index_bytes": explain(
            "ceil(cached_blocks * entry)",
            "The index file has an entry of {entry} for each of the {cached_blocks} that one server caches.",
            "measured on HBase 2.6.2, with the numbers of a server that has run for months",
            cached_blocks=computed(
                candidate.share.cached_blocks, "blocks", "warmbase.sizing.cache.bucket_cache.CacheDemand.blocks_cached"
            ),
            entry=computed(
                index_bytes_per_block(index_format(candidate.inputs.world.release)),
                "B",
                "warmbase.sizing.server.restart.index_bytes_per_block",
            ),
        ),
        "persistence.interval_ms": _interval(dump),
        "persistence.stop_timeout_seconds": explain(
            "closing + ceil(dumps * dump)",
            "A stop gets {closing} to close its regions, which is HBase's own limit, and time to write the index"
            " {dumps} times, because a dump may be running when the stop begins.",
            "HBase's HBASE_STOP_TIMEOUT; a server that is killed before its index is written loses its cache",
            closing=constant(restart, "STOP_SECONDS", "s"),
            dumps=constant(restart, "DUMPS_OF_STOP"),
            dump=dump,
        ),
        "persistence.chunk_blocks": explain(
            "blocks",
            "The index is written in chunks of {blocks}; each chunk is on the heap while it is written.",
            "measured on HBase 2.6.2; the default of ten million blocks would take ten times the heap",
            blocks=constant(restart, "CHUNK_BLOCKS", "blocks"),
        ),
    }


def _stop() -> Explanation:
    return explain(
        "closing",
        "A stop gets {closing} to close its regions, which is HBase's own limit.",
        "HBase's HBASE_STOP_TIMEOUT",
        closing=constant(restart, "STOP_SECONDS", "s"),
    )


def _interval(dump: Quantity) -> Explanation:
    return explain(
        "min(longest, max(shortest, minute * ceil(dump * milliseconds / share_of_time / minute)))",
        "HBase rewrites the whole index each time, which takes {dump}. The interval keeps that below "
        "{share_of_time} of the time, in whole minutes from {shortest} to {longest}.",
        "HBase 2.6 BucketCachePersister; its default of one second would never stop writing",
        dump=dump,
        milliseconds=MILLISECONDS,
        share_of_time=constant(restart, "DUMP_TIME_FRACTION", "fraction"),
        minute=constant(restart, "MINUTE_MS", "ms"),
        shortest=constant(restart, "SHORTEST_INTERVAL_MS", "ms"),
        longest=constant(restart, "LONGEST_INTERVAL_MS", "ms"),
    )


def restart_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """How long a planned restart takes, and how long the master waits for it."""
    timing = candidate.region_server.restart
    away = figure(timing.away_seconds, "s", "restart.away_seconds")
    opening = computed(timing.opening_seconds, "s", "warmbase.sizing.server.restart.restart")
    return {
        "restart.away_seconds": _away(candidate),
        **({"restart.retain_retries": _retain_retries(candidate, away, opening)} if candidate.cache_mib else {}),
        "restart.crash_offline_seconds": _crash_offline(timing.retain_retries),
        "restart.wait_for_servers_ms": explain(
            "milliseconds * ceil(usual * away)",
            "In a full restart, the master waits for the servers at most {usual} times as long as one of them is away "
            "({away}), rounded up to a whole second.",
            f"{MASTER}: a master waits at most this long for maxtostart servers",
            milliseconds=MILLISECONDS,
            usual=constant(restart, "RETAIN_MARGIN"),
            away=away,
        ),
        "restart.seconds": explain(
            "stop + away + late + opening",
            "The restart of one server, which keeps its cache, takes {stop} to write the index, {away} until the server"
            " is back, {late} until the master checks again, and {opening} to open its regions."
            if candidate.cache_mib
            else "The restart of one server takes {away} until the server is back, and {opening} to open its regions.",
            "an estimate: index dump and restore measured on HBase 2.6.2, the rest judgements",
            stop=computed(
                timing.stop_seconds, "s", "warmbase.sizing.server.restart.DUMP_SECONDS_PER_BLOCK x cached blocks"
            ),
            away=away,
            late=computed(timing.late_seconds, "s", "warmbase.sizing.server.restart.late_seconds"),
            opening=opening,
        ),
    }


def _retain_retries(candidate: Candidate, away: Quantity, opening: Quantity) -> Explanation:
    return pinned(candidate.inputs.requirements.pins, "retain_retries") or explain(
        "fewest_retries(margin * (away + opening))",
        "The fewest retries with which the master waits {margin} times as long as a restart takes ({away} until the "
        "server is back and {opening} to open its regions) before it moves the regions to other servers.",
        "HBase 2.6 hbase.master.scp.retain.assignment.force; the default of 600 retries never gives up",
        {"fewest_retries": restart.retain_retries},
        margin=figure(candidate.region_server.restart.retain_margin, "", "restart.retain_margin"),
        away=away,
        opening=opening,
    )


def _crash_offline(retries: int) -> Explanation:
    return explain(
        "wait * (doubled - first)",
        "Before the master opens the regions of a crashed server elsewhere, it waits {retries} times: {wait} at first, "
        "and then twice as long each time."
        if retries
        else "The master does not wait for a crashed server, and opens its regions elsewhere at once.",
        MASTER,
        wait=constant(restart, "RETAIN_WAIT_SECONDS", "s"),
        retries=figure(retries, "", "restart.retain_retries"),
        doubled=computed(2.0**retries, "", "two to the power of the retries"),
        first=WHOLE,
    )


def _away(candidate: Candidate) -> Explanation:
    timing, source = (
        candidate.region_server.restart,
        "an estimate: restore measured on HBase 2.6.2, the rest judgements",
    )
    boot = constant(restart, "BOOT_SECONDS", "s")
    pre_touch = computed(
        timing.pre_touch_seconds, "s", "heap / warmbase.sizing.server.restart.PRE_TOUCH_BYTES_PER_SECOND"
    )
    if not candidate.cache_mib:
        return explain(
            "boot + pre_touch",
            "A server is away while it boots ({boot}) and touches its heap ({pre_touch}).",
            "an estimate from judgements",
            boot=boot,
            pre_touch=pre_touch,
        )
    if candidate.inputs.world.release.index_restored_in_background:
        return explain(
            "boot + pre_touch",
            "A server is away while it boots ({boot}) and touches its heap ({pre_touch}); it reads the cache's index "
            "in the background.",
            source,
            boot=boot,
            pre_touch=pre_touch,
        )
    return explain(
        "boot + pre_touch + restore",
        "A server is away while it boots ({boot}), touches its heap ({pre_touch}) and reads the cache's index back "
        "({restore}).",
        source,
        boot=boot,
        pre_touch=pre_touch,
        restore=computed(timing.restore_seconds, "s", "warmbase.sizing.server.restart.restore_seconds"),
    )


def bad_hours_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain a crash and the initial load."""
    crash = {**_crash(candidate), **_replacement(candidate)} if candidate.count > 1 else {}
    return {
        **crash,
        "bad_hours.initial_load_seconds": explain(
            "cells / min(log, network)",
            "To load all data, clients put {cells} of cells. The volumes of the write-ahead log accept {log}, and the"
            " network carries {network}.",
            "a bound, not a forecast: compactions, handlers and the loader itself may be slower",
            cells=computed(load_bytes(candidate), "B", "warmbase.sizing.recovery.bad_hours.load_bytes"),
            log=computed(
                log_bytes_per_second(candidate), "B/s", "warmbase.sizing.recovery.bad_hours.log_bytes_per_second"
            ),
            network=computed(
                network_bytes_per_second(candidate),
                "B/s",
                "warmbase.sizing.recovery.bad_hours.network_bytes_per_second",
            ),
        ),
    }


def _crash(candidate: Candidate) -> dict[str, Explanation]:
    phases = candidate.offline
    names = {
        "session": constant(restart, "SESSION_TIMEOUT_MS", "ms"),
        "milliseconds": MILLISECONDS,
        "split": _computed(phases.split_seconds),
        "retention": figure(phases.retention_seconds, "s", "restart.crash_offline_seconds"),
        "opening": _computed(phases.opening_seconds),
    }
    total = "session / milliseconds + split + retention + opening"
    waits = " and waits {retention} for it to return" if phases.retention_seconds else ""
    sentence = (
        "ZooKeeper gives up a crashed server after {session}. The master splits its log in {split}" + waits + ", and "
        "the other servers open its regions in {opening}."
    )
    source = "an estimate; the speed of the split, {speed}, is a judgement"
    speed = {"speed": constant(restart, "SPLIT_BYTES_PER_SECOND", "B/s")}
    return {
        "bad_hours.lost_node.offline_seconds": explain(total, sentence, source.format_map(speed), **names),
        "bad_hours.lost_node.offline_with_meta_seconds": explain(
            f"{total} + meta",
            sentence
            + " If the server also had hbase:meta, add {meta}, because the master first brings back hbase:meta.",
            source.format_map(speed),
            **names,
            meta=_computed(phases.meta_seconds),
        ),
    }


def _replacement(candidate: Candidate) -> dict[str, Explanation]:
    warms = candidate.cold is not None
    warm = computed(warm_seconds(candidate), "s", "warmbase.sizing.recovery.bad_hours.warm_seconds")
    with_meta = candidate.offline.seconds + candidate.offline.meta_seconds
    return {
        "bad_hours.replaced_node.seconds": explain(
            "max(launch, offline) + runs * balancer" + (" + warm" if warms else ""),
            "EMR has a new node ready {launch} after the loss of an instance. HBase's balancer does not run until the "
            "rows of the lost node are online again, which takes up to {offline}. It then runs every {balancer}, and "
            "its moves may take as long again."
            + (" The new node then prefetches its blocks in {warm} while it serves reads." if warms else ""),
            "an estimate; AWS publishes no time for the replacement of a node",
            launch=constant(bad_hours, "REPLACEMENT_SECONDS", "s"),
            offline=figure(with_meta, "s", "bad_hours.lost_node.offline_with_meta_seconds"),
            balancer=constant(bad_hours, "BALANCER_SECONDS", "s"),
            runs=Quantity(value=2, source="one period until the balancer runs, and one for its moves"),
            **({"warm": warm} if warms else {}),
        )
    }


def _computed(seconds: float) -> Quantity:
    return computed(seconds, "s", "warmbase.sizing.server.restart.offline")


TERMS = {
    "s3-streams": "streams",
    "network": "network",
    "s3-requests": "requests",
    "fill": "filling",
    "cpu": "processor",
}
"""The steps of a prefetch as a formula names them."""


def cold_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain how long cold caches take to fill, and what is served meanwhile; nothing for a cluster without caches."""
    start = candidate.cold
    if start is None:
        return {}
    now, course = start.served(0.0), start.course
    reads = figure(now.reads_per_second, "reads/s", "bad_hours.cold.reads_per_second")
    explained = {
        "warm_up.prefetch_seconds": _prefetch_seconds(candidate, start),
        "bad_hours.cold.reads_per_second": explain(
            "min(offered, possible)",
            "With empty caches, every block comes from S3, and the cluster can serve {possible}, limited by {resource}."
            " The load is {offered}.",
            "utilisation law at a hit ratio of zero, while prefetch runs",
            offered=computed(now.offered_per_second, "reads/s", "warmbase.sizing.server.cold_start.ColdRates.served"),
            possible=computed(now.possible_per_second, "reads/s", "warmbase.sizing.server.cold_start.ColdRates.served"),
            resource=figure(now.bottleneck, "", "bad_hours.cold.bottleneck"),
        ),
        "bad_hours.cold.gets_per_second": explain(
            "reads * blocks",
            "With empty caches, the cluster serves {reads}, and each read fetches {blocks} from S3 with one GET for"
            " each.",
            "one GET for each missing block, counted for the reads that are served, not for those that are offered",
            reads=reads,
            blocks=computed(start.read.blocks, "blocks", "warmbase.sizing.workload.workload.StoredBlocks.per_read"),
        ),
    }
    carried_seconds = course.carried_seconds
    if carried_seconds:
        explained["bad_hours.cold.carried_seconds"] = explain(
            "time_until_served(offered)",
            "The cluster serves {offered} once its hit ratio reaches {least}, or a higher value while prefetch uses "
            "the same disks. The time comes from a simulation in steps: blocks that are read or prefetched in one step "
            "are hits in the next.",
            "an estimate: reads and prefetch share disks, network, CPU and S3's requests",
            {"time_until_served": lambda _: carried_seconds},
            offered=computed(now.offered_per_second, "reads/s", "warmbase.sizing.server.cold_start.ColdRates.served"),
            least=figure(start.least_hit_ratio or 0.0, "fraction", "bad_hours.cold.least_hit_ratio"),
        )
    return explained


def _prefetch_seconds(candidate: Candidate, start: ColdStart) -> Explanation:
    share = candidate.share_of(candidate.count)
    alone = fill_seconds(candidate.inputs.demand, share, start.cluster, candidate.prefetch_threads)
    seconds = {
        TERMS[name]: computed(value, "s", "warmbase.sizing.cache.warm_up.prefetch") for name, value in alone.terms
    }
    delay = start.course.prefetch_seconds - alone.seconds
    return explain(
        f"max({', '.join(seconds)}) + delay",
        "Each server prefetches {blocks} with {threads}. The slowest of these decides: reading from S3 takes "
        "{streams}, the network {network}, S3's request limit {requests}, writing to the volume {filling}, and the "
        "CPU {processor}. The reads that are served meanwhile add {delay}.",
        "checked against Cloudera's 127 minutes for 20 TB; the size of one GET is a judgement",
        blocks=computed(
            share.prefetched_blocks, "blocks", "warmbase.sizing.cache.bucket_cache.CacheDemand.blocks_prefetched"
        ),
        threads=figure(candidate.prefetch_threads, "threads", "prefetch_threads"),
        get=constant(region_server, "GET_BYTES", "B"),
        delay=computed(delay, "s", "warmbase.sizing.server.cold_start.ColdStart.course"),
        **seconds,
    )


def snapshot_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the times of both copies."""
    return {
        "snapshot.export_seconds": _copy(export_copy(candidate), candidate, "Copying {stored} to another bucket"),
        "snapshot.restore_seconds": _copy(import_copy(candidate), candidate, "Copying {stored} into the cluster"),
    }


def _copy(copy: Copy, candidate: Candidate, what: str) -> Explanation:
    mode, instance = candidate.inputs.mode, candidate.instance
    requirements = candidate.inputs.requirements
    mappers = (
        figure(copy.mappers, "mappers", "snapshot.mappers")
        if requirements.snapshot_mappers is None
        else setting(copy.mappers, "mappers", "snapshots.mappers")
    )
    return explain(
        "stored / min(nodes * network * share / copies, mappers * stream)",
        f"{what} is limited by {{mappers}} of {{stream}} each, or by {{share}} of the network of {{nodes}}, which have "
        "{network} each.",
        "an estimate for ExportSnapshot; the rate of a mapper and the share of the network are judgements",
        stored=setting(copy.copied_bytes, "B", "workload.stored"),
        nodes=figure(copy.servers, "nodes", "core.count"),
        network=fact(copy.network_bytes_per_second, "B/s", f"instance type {instance.name}"),
        share=constant(export, "NETWORK_FRACTION", "fraction"),
        copies=fact(copy.replicas, "", f"mode {mode}"),
        mappers=mappers,
        stream=constant(export, "STREAM_BYTES_PER_SECOND", "B/s"),
    )
