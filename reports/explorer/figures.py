"""The headline figures of an HBase cluster, with the wording and the precision of `warmbase plan`."""

from __future__ import annotations

from collections.abc import Iterator

from reports.block_reads import block_reads
from reports.explorer.drawing import Figure
from reports.nodes_text import volumes_text
from sizing.plan import Plan
from sizing.units import format_duration, format_number, format_percent, format_usd


def figures(plan: Plan) -> list[Figure]:
    """Return the headline figures, the most important one first."""
    return [_price(plan), _nodes(plan), *_warm(plan), *_bad_hours(plan)]


def verdict(plan: Plan) -> str:
    """Return a line that says whether the plan meets the targets."""
    if not plan.feasible:
        return f"No cluster meets the targets; this is the nearest one. Best attainable: {'; or '.join(plan.nearest)}"
    return "The cluster meets all targets." if plan.meets_targets else "The cluster in the file misses the targets."


def decisive(plan: Plan) -> str:
    """Return a sentence that says what decides the number of core nodes."""
    return plan.because["core.count"].sentence


def _price(plan: Plan) -> Figure:
    rate = f"less {format_percent(plan.prices.discount)}" if plan.prices.discount else "on demand"
    basis = "estimated prices" if plan.prices.estimate else f"prices of {plan.prices_as_of}"
    return Figure(
        id="price", title="Price per month", text=format_usd(plan.cost.usd_per_month), note=f"{rate}, {basis}"
    )


def _nodes(plan: Plan) -> Figure:
    volumes = volumes_text(plan.core.volumes)
    storage = f"each with {volumes}; " if volumes else ""
    primaries = f"{plan.primary.count} x {plan.primary.instance_type} primary node{'s' * (plan.primary.count > 1)}"
    text = f"{plan.core.count} x {plan.core.instance_type}"
    return Figure(id="nodes", title="Core nodes", text=text, note=f"{storage}{primaries}")


def _warm(plan: Plan) -> Iterator[Figure]:
    load = plan.throughput
    has_disk = plan.bucket_cache or plan.hdfs
    source = "come from local disks once warm" if has_disk else "need no GET from S3"
    note = f"of {block_reads(plan)} {source}"
    yield Figure(id="hit_ratio", title="Hit ratio", text=format_percent(plan.hit_ratio.predicted), note=note)
    served = f"{load.reads_per_second:,.0f} reads/s"
    if load.offered_reads_per_second is not None and load.reads_per_second < load.offered_reads_per_second:
        served = f"only {load.reads_per_second:,.0f} of {load.offered_reads_per_second:,.0f} reads/s"
    mean, most = format_number(load.mean_latency_ms), f"{load.saturation_reads_per_second:,.0f}"
    note = f"{mean} ms on average, at {served}; at most {most} reads/s (estimates)"
    yield Figure(id="p99", title="p99 latency", text=f"{load.p99_latency_ms:,.0f} ms", note=note)


def _bad_hours(plan: Plan) -> Iterator[Figure]:
    yield _cold(plan)
    lost = plan.bad_hours.lost_node
    note = "the cluster has one core node, so its loss is an outage"
    if lost is not None:
        note = f"with {format_percent(lost.rows_fraction)} of rows offline, then a p99 of {lost.p99_latency_ms:,.0f} ms"
    offline = format_duration(lost.offline_seconds) if lost else "outage"
    yield Figure(id="lost_node", title="Loss of a node", text=offline, note=f"{note} (estimates)")
    cache = "; the cache is kept" if plan.bucket_cache else ""
    note = f"for each server{cache} (estimate)"
    yield Figure(id="restart", title="Restart", text=format_duration(plan.restart.seconds), note=note)


def _cold(plan: Plan) -> Figure:
    cold, offered = plan.bad_hours.cold, plan.throughput.offered_reads_per_second
    if cold is None or not plan.bucket_cache:
        return Figure(id="cold", title="Cold caches", text="none", note="this storage mode has no cache to warm")
    text, warm = f"{cold.reads_per_second:,.0f} reads/s", format_duration(plan.warm_up.prefetch_seconds)
    full = f"the caches are full after {warm}"
    if offered is None or cold.carried_seconds == 0:
        return Figure(id="cold", title="Cold caches", text=text, note=f"at first; {full} (estimates)")
    late = "never all" if cold.carried_seconds is None else f"all after {format_duration(cold.carried_seconds)}"
    note = f"of {offered:,.0f} at first, limited by {cold.bottleneck}; {late}; {full} (estimates)"
    return Figure(id="cold", title="Cold caches", text=text, note=note)
