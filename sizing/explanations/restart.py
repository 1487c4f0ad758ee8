"""Why the cache's index is written as it is, and how long a restart takes."""

from __future__ import annotations

from sizing import persistence, restart
from sizing.candidate import Candidate
from sizing.explanation import Explanation, Quantity, explain
from sizing.explanations.quantities import MILLISECONDS, WHOLE, computed, constant, figure, pinned
from sizing.persistence import index_bytes_per_block
from sizing.region_server import index_format

__all__ = ["persistence_explanations", "restart_explanations"]

MASTER = "HBase 2.6.2 ServerManager"


def persistence_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the size of the persisted index, how often it is written, and how long a stop may take."""
    if not candidate.cache_mib:
        return {"persistence.stop_timeout_seconds": _stop()}
    index = candidate.region_server.persistence
    dump = computed(index.dump_seconds, "s", "sizing.persistence.dump_seconds")
    return {
        "persistence.index_bytes": explain(
            "ceil(cached_blocks * entry)",
            "The index file has an entry of {entry} for each of the {cached_blocks} that one server caches.",
            "measured on HBase 2.6.2, with the numbers of a server that has run for months",
            cached_blocks=computed(
                candidate.share.cached_blocks, "blocks", "sizing.bucket_cache.CacheDemand.blocks_cached"
            ),
            entry=computed(
                index_bytes_per_block(index_format(candidate.question.world.release)),
                "B",
                "sizing.persistence.index_bytes_per_block",
            ),
        ),
        "persistence.interval_ms": _interval(dump),
        "persistence.stop_timeout_seconds": explain(
            "closing + ceil(dumps * dump)",
            "A stop gets {closing} to close its regions, which is HBase's own limit, and time to write the index"
            " {dumps} times, because a dump may be running when the stop begins.",
            "HBase's HBASE_STOP_TIMEOUT; a server that is killed before its index is written loses its cache",
            closing=constant(persistence, "STOP_SECONDS", "s"),
            dumps=constant(persistence, "DUMPS_OF_STOP"),
            dump=dump,
        ),
        "persistence.chunk_blocks": explain(
            "blocks",
            "The index is written in chunks of {blocks}; each chunk is on the heap while it is written.",
            "measured on HBase 2.6.2; the default of ten million blocks would take ten times the heap",
            blocks=constant(persistence, "CHUNK_BLOCKS", "blocks"),
        ),
    }


def _stop() -> Explanation:
    return explain(
        "closing",
        "A stop gets {closing} to close its regions, which is HBase's own limit.",
        "HBase's HBASE_STOP_TIMEOUT",
        closing=constant(persistence, "STOP_SECONDS", "s"),
    )


def _interval(dump: Quantity) -> Explanation:
    return explain(
        "min(longest, max(shortest, minute * ceil(dump * milliseconds / share_of_time / minute)))",
        "HBase rewrites the whole index each time, which takes {dump}. The interval keeps that below "
        "{share_of_time} of the time, in whole minutes from {shortest} to {longest}.",
        "HBase 2.6 BucketCachePersister; its default of one second would never stop writing",
        dump=dump,
        milliseconds=MILLISECONDS,
        share_of_time=constant(persistence, "DUMP_TIME_FRACTION", "fraction"),
        minute=constant(persistence, "MINUTE_MS", "ms"),
        shortest=constant(persistence, "SHORTEST_INTERVAL_MS", "ms"),
        longest=constant(persistence, "LONGEST_INTERVAL_MS", "ms"),
    )


def restart_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """How long a planned restart takes, and how long the master waits for it."""
    timing = candidate.region_server.restart
    away = figure(timing.away_seconds, "s", "restart.away_seconds")
    opening = computed(timing.opening_seconds, "s", "sizing.restart.restart")
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
            stop=computed(timing.stop_seconds, "s", "sizing.persistence.DUMP_SECONDS_PER_BLOCK x cached blocks"),
            away=away,
            late=computed(timing.late_seconds, "s", "sizing.restart.late_seconds"),
            opening=opening,
        ),
    }


def _retain_retries(candidate: Candidate, away: Quantity, opening: Quantity) -> Explanation:
    return pinned(candidate.question.requirements.pins, "retain_retries") or explain(
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
    pre_touch = computed(timing.pre_touch_seconds, "s", "heap / sizing.restart.PRE_TOUCH_BYTES_PER_SECOND")
    if not candidate.cache_mib:
        return explain(
            "boot + pre_touch",
            "A server is away while it boots ({boot}) and touches its heap ({pre_touch}).",
            "an estimate from judgements",
            boot=boot,
            pre_touch=pre_touch,
        )
    if candidate.question.world.release.index_restored_in_background:
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
        restore=computed(timing.restore_seconds, "s", "sizing.restart.restore_seconds"),
    )
