"""Why cold caches take as long as they do to warm up, and what the cluster serves meanwhile."""

from __future__ import annotations

from sizing import prefetching
from sizing.candidate import Candidate
from sizing.cold_start import ColdStart
from sizing.explanation import Explanation, explain
from sizing.explanations.quantities import computed, constant, figure
from sizing.prefetching import fill_seconds

__all__ = ["cold_explanations"]

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
            offered=computed(now.offered_per_second, "reads/s", "sizing.cold_rates.ColdRates.served"),
            possible=computed(now.possible_per_second, "reads/s", "sizing.cold_rates.ColdRates.served"),
            resource=figure(now.bottleneck, "", "bad_hours.cold.bottleneck"),
        ),
        "bad_hours.cold.gets_per_second": explain(
            "reads * blocks",
            "With empty caches, the cluster serves {reads}, and each read fetches {blocks} from S3 with one GET for"
            " each.",
            "one GET for each missing block, counted for the reads that are served, not for those that are offered",
            reads=reads,
            blocks=computed(start.read.blocks, "blocks", "sizing.stored_blocks.StoredBlocks.per_read"),
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
            offered=computed(now.offered_per_second, "reads/s", "sizing.cold_rates.ColdRates.served"),
            least=figure(start.least_hit_ratio or 0.0, "fraction", "bad_hours.cold.least_hit_ratio"),
        )
    return explained


def _prefetch_seconds(candidate: Candidate, start: ColdStart) -> Explanation:
    share = candidate.share_of(candidate.count)
    alone = fill_seconds(candidate.question.demand, share, start.cluster, candidate.prefetch_threads)
    seconds = {TERMS[name]: computed(value, "s", "sizing.warm_up.prefetch") for name, value in alone.terms}
    delay = start.course.prefetch_seconds - alone.seconds
    return explain(
        f"max({', '.join(seconds)}) + delay",
        "Each server prefetches {blocks} with {threads}. The slowest of these decides: reading from S3 takes "
        "{streams}, the network {network}, S3's request limit {requests}, writing to the volume {filling}, and the "
        "CPU {processor}. The reads that are served meanwhile add {delay}.",
        "checked against Cloudera's 127 minutes for 20 TB; the size of one GET is a judgement",
        blocks=computed(share.prefetched_blocks, "blocks", "sizing.bucket_cache.CacheDemand.blocks_prefetched"),
        threads=figure(candidate.prefetch_threads, "threads", "prefetch_threads"),
        get=constant(prefetching, "GET_BYTES", "B"),
        delay=computed(delay, "s", "sizing.cold_start.ColdStart.course"),
        **seconds,
    )
