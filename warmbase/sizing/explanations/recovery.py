"""Why the hours after a failure or a launch last as long as they do.

They are the restart and the dumps of the index that it needs, a lost node, the initial load, cold caches that warm up
while the cluster serves, and a snapshot that leaves the cluster or comes back.
"""

from __future__ import annotations

from warmbase.sizing.explanation import (
    MILLISECONDS,
    WHOLE,
    Explanation,
    Quantity,
    computed,
    constant,
    explain,
    figure,
    pinned,
    setting,
)
from warmbase.sizing.recovery import bad_hours, export
from warmbase.sizing.recovery.bad_hours import load_bytes, log_bytes_per_second, network_bytes_per_second, warm_seconds
from warmbase.sizing.recovery.export import export_copy, import_copy
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.server import region_server, restart
from warmbase.sizing.server.region_server import fill_seconds
from warmbase.sizing.server.restart import index_bytes_per_block

MASTER = "HBase 2.6.2 ServerManager"
OFFLINE = "warmbase.sizing.server.restart.offline"
SERVED = "warmbase.sizing.server.cold_start.ColdRates.served"
TERMS = {
    "s3-streams": "streams",
    "network": "network",
    "s3-requests": "requests",
    "fill": "filling",
    "cpu": "processor",
}
"""The steps of a prefetch as a formula names them."""


def persistence_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the size of the persisted index, how often it is written, and how long a stop may take."""
    closing = constant(restart, "STOP_SECONDS", "s")
    if not candidate.cache_mib:
        sentence = "A stop gets {closing} to close its regions, which is HBase's own limit."
        stop = explain("closing", sentence, "HBase's HBASE_STOP_TIMEOUT", closing=closing)
        return {"persistence.stop_timeout_seconds": stop}
    dump = computed(
        candidate.region_server.persistence.dump_seconds, "s", "warmbase.sizing.server.restart.dump_seconds"
    )
    return {
        "persistence.index_bytes": explain(
            "ceil(cached_blocks * entry)",
            "The index file has an entry of {entry} for each of the {cached_blocks} that one server caches.",
            "measured on HBase 2.6.2, with the numbers of a server that has run for months",
            cached_blocks=computed(
                candidate.share.cached_blocks, "blocks", "warmbase.sizing.cache.bucket_cache.CacheDemand.blocks_cached"
            ),
            entry=computed(
                index_bytes_per_block(candidate.inputs.world.release),
                "B",
                "warmbase.sizing.server.restart.index_bytes_per_block",
            ),
        ),
        "persistence.interval_ms": explain(
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
        ),
        "persistence.stop_timeout_seconds": explain(
            "closing + ceil(dumps * dump)",
            "A stop gets {closing} to close its regions, which is HBase's own limit, and time to write the index"
            " {dumps} times, because a dump may be running when the stop begins.",
            "HBase's HBASE_STOP_TIMEOUT; a server that is killed before its index is written loses its cache",
            closing=closing,
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


def cold_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain how long cold caches take to fill, and what is served meanwhile; nothing for a cluster without caches."""
    start = candidate.cold
    if start is None:
        return {}
    now, course, share = start.served(0.0), start.course, candidate.share_of(candidate.count)
    reads = figure(now.reads_per_second, "reads/s", "bad_hours.cold.reads_per_second")
    offered = computed(now.offered_per_second, "reads/s", SERVED)
    alone = fill_seconds(candidate.inputs.demand, share, start.cluster, candidate.region_server.prefetch_threads)
    steps = {TERMS[name]: computed(value, "s", "warmbase.sizing.cache.warm_up.prefetch") for name, value in alone.terms}
    explained = {
        "warm_up.prefetch_seconds": explain(
            f"max({', '.join(steps)}) + delay",
            "Each server prefetches {blocks} with {threads}. The slowest of these decides: reading from S3 takes "
            "{streams}, the network {network}, S3's request limit {requests}, writing to the volume {filling}, and the "
            "CPU {processor}. The reads that are served meanwhile add {delay}.",
            "checked against Cloudera's 127 minutes for 20 TB; the size of one GET is a judgement",
            blocks=computed(
                share.prefetched_blocks, "blocks", "warmbase.sizing.cache.bucket_cache.CacheDemand.blocks_prefetched"
            ),
            threads=figure(candidate.region_server.prefetch_threads, "threads", "prefetch_threads"),
            get=constant(region_server, "GET_BYTES", "B"),
            delay=computed(
                course.prefetch_seconds - alone.seconds, "s", "warmbase.sizing.server.cold_start.ColdStart.course"
            ),
            **steps,
        ),
        "bad_hours.cold.reads_per_second": explain(
            "min(offered, possible)",
            "With empty caches, every block comes from S3, and the cluster can serve {possible}, limited by {resource}."
            " The load is {offered}.",
            "utilisation law at a hit ratio of zero, while prefetch runs",
            offered=offered,
            possible=computed(now.possible_per_second, "reads/s", SERVED),
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
            offered=offered,
            least=figure(start.least_hit_ratio or 0.0, "fraction", "bad_hours.cold.least_hit_ratio"),
        )
    return explained


def bad_hours_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain a crash, the replacement of its node, and the initial load."""
    explained, phases = {}, candidate.offline
    if candidate.count > 1:
        names = {
            "session": constant(restart, "SESSION_TIMEOUT_MS", "ms"),
            "milliseconds": MILLISECONDS,
            "split": computed(phases.split_seconds, "s", OFFLINE),
            "retention": figure(phases.retention_seconds, "s", "restart.crash_offline_seconds"),
            "opening": computed(phases.opening_seconds, "s", OFFLINE),
        }
        total = "session / milliseconds + split + retention + opening"
        waits = " and waits {retention} for it to return" if phases.retention_seconds else ""
        sentence = (
            f"ZooKeeper gives up a crashed server after {{session}}. The master splits its log in {{split}}{waits}, and"
            " the other servers open its regions in {opening}."
        )
        speed = constant(restart, "SPLIT_BYTES_PER_SECOND", "B/s")
        source = f"an estimate; the speed of the split, {speed}, is a judgement"
        warm = {}
        if candidate.cold is not None:
            warm["warm"] = computed(warm_seconds(candidate), "s", "warmbase.sizing.recovery.bad_hours.warm_seconds")
        prefetch = " The new node then prefetches its blocks in {warm} while it serves reads." if warm else ""
        explained = {
            "bad_hours.lost_node.offline_seconds": explain(total, sentence, source, **names),
            "bad_hours.lost_node.offline_with_meta_seconds": explain(
                f"{total} + meta",
                f"{sentence} If the server also had hbase:meta, add {{meta}}, because the master first brings back"
                " hbase:meta.",
                source,
                **names,
                meta=computed(phases.meta_seconds, "s", OFFLINE),
            ),
            "bad_hours.replaced_node.seconds": explain(
                f"max(launch, offline) + runs * balancer{' + warm' if warm else ''}",
                "EMR has a new node ready {launch} after the loss of an instance. HBase's balancer does not run until"
                " the rows of the lost node are online again, which takes up to {offline}. It then runs every"
                f" {{balancer}}, and its moves may take as long again.{prefetch}",
                "an estimate; AWS publishes no time for the replacement of a node",
                launch=constant(bad_hours, "REPLACEMENT_SECONDS", "s"),
                offline=figure(
                    phases.seconds + phases.meta_seconds, "s", "bad_hours.lost_node.offline_with_meta_seconds"
                ),
                balancer=constant(bad_hours, "BALANCER_SECONDS", "s"),
                runs=Quantity(value=2, source="one period until the balancer runs, and one for its moves"),
                **warm,
            ),
        }
    rates = "warmbase.sizing.recovery.bad_hours"
    explained["bad_hours.initial_load_seconds"] = explain(
        "cells / min(log, network)",
        "To load all data, clients put {cells} of cells. The volumes of the write-ahead log accept {log}, and the"
        " network carries {network}.",
        "a bound, not a forecast: compactions, handlers and the loader itself may be slower",
        cells=computed(load_bytes(candidate), "B", f"{rates}.load_bytes"),
        log=computed(log_bytes_per_second(candidate), "B/s", f"{rates}.log_bytes_per_second"),
        network=computed(network_bytes_per_second(candidate), "B/s", f"{rates}.network_bytes_per_second"),
    )
    return explained


def restart_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain how long a planned restart takes, and how long the master waits for it."""
    timing, caches = candidate.region_server.restart, candidate.cache_mib > 0
    away = figure(timing.away_seconds, "s", "restart.away_seconds")
    opening = computed(timing.opening_seconds, "s", "warmbase.sizing.server.restart.restart")
    names = {
        "boot": constant(restart, "BOOT_SECONDS", "s"),
        "pre_touch": computed(
            timing.pre_touch_seconds, "s", "heap / warmbase.sizing.server.restart.PRE_TOUCH_BYTES_PER_SECOND"
        ),
    }
    formula, source = "boot + pre_touch", "an estimate: restore measured on HBase 2.6.2, the rest judgements"
    sentence = "A server is away while it boots ({boot}) and touches its heap ({pre_touch})"
    if not caches:
        sentence, source = f"{sentence}.", "an estimate from judgements"
    elif candidate.inputs.world.release.index_restored_in_background:
        sentence += "; it reads the cache's index in the background."
    else:
        formula = "boot + pre_touch + restore"
        sentence = (
            "A server is away while it boots ({boot}), touches its heap ({pre_touch}) and reads the cache's index back "
            "({restore})."
        )
        names["restore"] = computed(timing.restore_seconds, "s", "warmbase.sizing.server.restart.restore_seconds")
    explained = {"restart.away_seconds": explain(formula, sentence, source, **names)}
    if caches:
        explained["restart.retain_retries"] = pinned(candidate.inputs.requirements.pins, "retain_retries") or explain(
            "fewest_retries(margin * (away + opening))",
            "The fewest retries with which the master waits {margin} times as long as a restart takes ({away} until the"
            " server is back and {opening} to open its regions) before it moves the regions to other servers.",
            "HBase 2.6 hbase.master.scp.retain.assignment.force; the default of 600 retries never gives up",
            {"fewest_retries": restart.retain_retries},
            margin=figure(timing.retain_margin, "", "restart.retain_margin"),
            away=away,
            opening=opening,
        )
    retries = timing.retain_retries
    return {
        **explained,
        "restart.crash_offline_seconds": explain(
            "wait * (doubled - first)",
            "Before the master opens the regions of a crashed server elsewhere, it waits {retries} times: {wait} at"
            " first, and then twice as long each time."
            if retries
            else "The master does not wait for a crashed server, and opens its regions elsewhere at once.",
            MASTER,
            wait=constant(restart, "RETAIN_WAIT_SECONDS", "s"),
            retries=figure(retries, "", "restart.retain_retries"),
            doubled=computed(2.0**retries, "", "two to the power of the retries"),
            first=WHOLE,
        ),
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
            if caches
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


def snapshot_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the times of both copies, out of the cluster and into it."""
    explained = {}
    is_stated = candidate.inputs.requirements.snapshot_mappers is not None
    for path, copy, where in (
        ("snapshot.export_seconds", export_copy(candidate), "to another bucket"),
        ("snapshot.restore_seconds", import_copy(candidate), "into the cluster"),
    ):
        explained[path] = explain(
            "stored / min(nodes * network * share / copies, mappers * stream)",
            f"Copying {{stored}} {where} is limited by {{mappers}} of {{stream}} each, or by {{share}} of the network"
            " of {nodes}, which have {network} each.",
            "an estimate for ExportSnapshot; the rate of a mapper and the share of the network are judgements",
            stored=setting(copy.copied_bytes, "B", "workload.stored"),
            nodes=figure(copy.servers, "nodes", "core.count"),
            network=computed(copy.network_bytes_per_second, "B/s", f"instance type {candidate.instance.name}"),
            share=constant(export, "NETWORK_FRACTION", "fraction"),
            copies=computed(copy.replicas, "", f"mode {candidate.inputs.mode}"),
            mappers=setting(copy.mappers, "mappers", "snapshots.mappers")
            if is_stated
            else figure(copy.mappers, "mappers", "snapshot.mappers"),
            stream=constant(export, "STREAM_BYTES_PER_SECOND", "B/s"),
        )
    return explained
