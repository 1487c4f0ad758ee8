"""Why the cluster serves the reads that it serves, and why it costs what it costs."""

from __future__ import annotations

from warmbase.sizing.explanation import Explanation, Quantity, constraint, explain
from warmbase.sizing.explanations.quantities import MILLISECONDS, computed, constant, figure, offered_reads, setting
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.evaluation import candidate_cost, gets_per_second
from warmbase.sizing.service import performance, resource
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.service.performance import Performance
from warmbase.sizing.service.resource import bottleneck
from warmbase.sizing.workload import popularity, read

__all__ = ["service_explanations"]


def service_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain bottleneck, latency, requests and cost."""
    return {
        "throughput.bottleneck": _bottleneck(candidate),
        **_load("throughput", candidate, candidate.inputs, candidate.performance(candidate.count)),
        **_peak(candidate),
        **_busiest_server(candidate),
        **_s3_requests(candidate),
        "cost.usd_per_month": _cost(candidate),
    }


def _s3_requests(candidate: Candidate) -> dict[str, Explanation]:
    warm_gets = gets_per_second(candidate)
    if not warm_gets:
        return {}
    return {
        "s3.prefix_limit_fraction": explain(
            "warm_gets / limit",
            "With warm caches, the offered reads send {warm_gets} to S3, which supports {limit} for one prefix. Each"
            " block that is not cached counts as one GET, whatever the read policy of the S3 client.",
            "Amazon S3 User Guide, optimizing performance",
            warm_gets=computed(warm_gets, "GETs/s", "warmbase.sizing.search.evaluation.gets_per_second"),
            limit=constant(resource, "S3_GETS_PER_SECOND_PER_PREFIX", "GETs/s"),
        )
    }


def _peak(candidate: Candidate) -> dict[str, Explanation]:
    inputs = candidate.inputs.at_peak
    if inputs is candidate.inputs:
        return {}
    return _load("peak", candidate, inputs, candidate.peak_performance(candidate.count))


def _load(path: str, candidate: Candidate, inputs: SizingInputs, reads: Performance) -> dict[str, Explanation]:
    """Explain the figures of one rate of reads, the mean one or that of the peak hour, below a path."""
    limit = bottleneck(candidate.resources(candidate.count))
    return {
        f"{path}.utilisation_fraction": explain(
            "served / limit",
            "The cluster serves {served}, and its bottleneck ({resource}) is used up at {limit}.",
            "utilisation law, with sustained limits only",
            served=computed(reads.load.reads_per_second, "reads/s", "warmbase.sizing.service.performance.performance"),
            limit=figure(limit.max_reads_per_second, "reads/s", f"{path}.saturation_reads_per_second"),
            resource=figure(limit.name, "", f"{path}.bottleneck"),
        ),
        f"{path}.mean_latency_ms": _mean_latency(inputs, reads),
        f"{path}.p99_latency_ms": _p99(candidate, inputs, reads),
    }


def _p99(candidate: Candidate, inputs: SizingInputs, reads: Performance) -> Explanation:
    """Explain the simulated percentile by what a block waits for: a disk, S3, or either."""
    in_s3, on_disk = candidate.inputs.mode.keeps_data_in_s3, candidate.disk is not None
    waits = {"disk": constant(resource, "DISK_LATENCY_SECONDS", "s")} if on_disk else {}
    if in_s3:
        waits["first_byte"] = constant(read, "S3_FIRST_BYTE_SECONDS", "s")
    sentence = "A disk takes {disk} on average." if on_disk else "S3's first byte takes {first_byte} on average."
    if in_s3 and on_disk:
        waits["hit_ratio"] = _from_disks(candidate, inputs)
        sentence = (
            "A disk takes {disk} and S3's first byte {first_byte} on average, and {hit_ratio} of the blocks come from"
            " disks."
        )
    weighted = ""
    if len(reads.paths) > 1:
        weighted = " Each table has so many, with its own hit ratio, and counts as much as its share of the reads."
    return explain(
        "simulated_latency(quantile) * milliseconds",
        "{quantile} of the reads are faster in a simulation of {simulated_reads} with a fixed seed."
        f"{weighted} {sentence}",
        "an estimate; S3 documents 100 to 200 ms for a first byte, gp3 single-digit milliseconds",
        {"simulated_latency": reads.quantile_seconds},
        quantile=constant(performance, "TAIL_QUANTILE", "fraction"),
        simulated_reads=constant(performance, "READS", "reads"),
        milliseconds=MILLISECONDS,
        **waits,
    )


def _from_disks(candidate: Candidate, inputs: SizingInputs) -> Quantity:
    """Return the share of all blocks that come from disks; blocks of tables that are not cached never do."""
    ratio, share = candidate.hit_ratio(candidate.count), candidate.from_disks(inputs)
    if share == ratio:
        return figure(ratio, "fraction", "hit_ratio.predicted")
    return computed(share, "fraction", "warmbase.sizing.search.candidate.Candidate.from_disks")


def _bottleneck(candidate: Candidate) -> Explanation:
    resources = candidate.resources(candidate.count)
    limit = bottleneck(resources)
    capacity = Quantity(value=limit.capacity, unit=limit.unit, source="warmbase.sizing.service.resource.resources")
    next_limit = min(other.max_reads_per_second for other in resources if other is not limit)
    return constraint(
        "capacity / (per_read * busiest) <= next_limit",
        "The bottleneck is {resource}. The cluster has {capacity}, a read takes {per_read}, and the busiest server"
        " carries {busiest} times the mean load. The next resource would be used up at {next_limit}.",
        "utilisation law, with sustained limits only",
        resource=computed(limit.name, "", "warmbase.sizing.service.resource.bottleneck"),
        capacity=capacity,
        per_read=computed(
            limit.demand_per_read, limit.unit.removesuffix("/s"), "warmbase.sizing.service.resource.resources"
        ),
        busiest=computed(limit.imbalance, "", "warmbase.sizing.workload.popularity.imbalance"),
        next_limit=computed(next_limit, "reads/s", "warmbase.sizing.service.resource.resources"),
    )


def _busiest_server(candidate: Candidate) -> dict[str, Explanation]:
    inputs, workload = candidate.inputs.at_peak, candidate.inputs.requirements.workload
    spread = " or ".join(dict.fromkeys(str(part.spread) for part in workload.parts))
    names = {
        "servers": figure(candidate.count, "nodes", "core.count"),
        "regions": setting(workload.regions, "regions", "workload.regions"),
        "spread": setting(spread, "", "workload.spread"),
    }
    placing = "This is the mean of {placements}, which give every server the same number of regions."
    spreading = "reads spread over {regions} as workload.spread says ({spread})"
    if workload.tables:
        spreading = "the reads of each table spread over its part of {regions} as its key spread says ({spread})"
    source = (
        "HBase's balancer evens out the number of regions, not their reads; checked against a placement of every row"
    )
    return {
        "throughput.busiest_server.requests": explain(
            "busiest(servers)",
            "The busiest of {servers} receives this many times the mean number of requests, where "
            f"{spreading}. {placing}",
            source,
            {"busiest": lambda servers: inputs.imbalance(round(servers)).requests},
            **names,
            placements=constant(popularity, "PLACEMENTS", "random placements"),
        ),
        "throughput.busiest_server.blocks": explain(
            "busiest(servers)",
            "The busiest of {servers} reads this many times the mean number of blocks from disk or S3. Blocks spread "
            "more evenly than requests, because the hottest rows ({remembered} on each server) stay in memory.",
            source,
            {"busiest": lambda servers: inputs.imbalance(round(servers)).blocks},
            **names,
            remembered=constant(popularity, "REMEMBERED_BYTES", "B"),
        ),
    }


def _mean_latency(inputs: SizingInputs, reads: Performance) -> Explanation:
    return explain(
        "(alone + waiting) * milliseconds",
        "A read of {blocks} takes {alone} when nothing else runs, and waits {waiting} under a load of {load}.",
        "mean-value analysis (Reiser and Lavenberg) for a closed load, M/M/c for an open one",
        alone=computed(reads.load.seconds_alone, "s", "warmbase.sizing.service.resource.seconds_alone"),
        waiting=computed(reads.load.waiting_seconds, "s", "warmbase.sizing.service.queueing"),
        milliseconds=MILLISECONDS,
        blocks=computed(inputs.read.blocks, "blocks", "warmbase.sizing.workload.workload.StoredBlocks.per_read"),
        load=offered_reads(inputs),
    )


def _cost(candidate: Candidate) -> Explanation:
    bill = candidate_cost(candidate)
    core = sum(line.usd_per_month for line in bill.lines if line.item.startswith("core "))
    primary = sum(line.usd_per_month for line in bill.lines if line.item.startswith("primary "))
    services = sum(line.usd_per_month for line in bill.lines if not line.item.startswith(("core ", "primary ")))
    return explain(
        "core + primary + services",
        "The sum of the bill with all nodes running all month: {core} for core nodes, {primary} for primary nodes, and "
        "{services} for S3, CloudWatch, keys and endpoints.",
        candidate.inputs.world.prices.described,
        core=computed(core, "USD/month", "warmbase.sizing.search.evaluation.candidate_cost"),
        primary=computed(primary, "USD/month", "warmbase.sizing.search.evaluation.candidate_cost"),
        services=computed(services, "USD/month", "warmbase.sizing.search.evaluation.candidate_cost"),
    )
