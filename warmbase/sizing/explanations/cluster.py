"""Why the cluster has this number of nodes of this type, and why it has this throughput, latency and price.

Type and number are results of a search, so each explanation is the comparison that decided: with the next best type,
and with one node fewer of the same type.
"""

from __future__ import annotations

from msgspec.structs import replace

from warmbase.sizing.explanation import (
    MILLISECONDS,
    Explanation,
    Quantity,
    computed,
    constant,
    constraint,
    explain,
    figure,
    setting,
)
from warmbase.sizing.search import candidate as search_candidate
from warmbase.sizing.search import evaluation
from warmbase.sizing.search.candidate import Candidate, Shortfall
from warmbase.sizing.search.cost_grid import volume_shortfall
from warmbase.sizing.search.evaluation import Evaluation, SearchResult, candidate_cost, gets_per_second
from warmbase.sizing.search.search import fewest_nodes, search
from warmbase.sizing.server import system_volume
from warmbase.sizing.service import inputs as sizing_inputs
from warmbase.sizing.service import performance, resource
from warmbase.sizing.service.performance import Performance
from warmbase.sizing.service.resource import bottleneck
from warmbase.sizing.workload import popularity, read
from warmbase.sizing.workload.workload import ClosedLoad

SEARCHED = "warmbase.sizing.search.search.search"
SHORTFALLS = "warmbase.sizing.search.candidate.shortfalls"
CANDIDATE_COST = "warmbase.sizing.search.evaluation.candidate_cost"
SEARCH = (
    "branch and bound over types, counts and volumes, in steps of 0.5 % of cache and 10 % of speed; plan --all lists "
    "what was rejected and why"
)
MEASURES = {
    "memory": "the page cache would have {with_one_fewer} of RAM, but it needs {needed}",
    "hit_ratio": "the hit ratio would be {with_one_fewer}, but the target is {needed}",
    "reads": "the cluster would carry {with_one_fewer}, but {needed} are offered",
    "writes": "the cluster would carry {with_one_fewer} of writes, but {needed} are offered",
    "warm_up": "a warm-up would take {with_one_fewer}, but the target is {needed}",
    "carries_load_within": "cold caches would carry the load after {with_one_fewer}, but the target is {needed}",
    "offline_after_crash": "rows would be offline for {with_one_fewer} after a crash, but the target is {needed}",
    "p99": "the p99 would be {with_one_fewer} (estimate), but the target is {needed}",
    "budget": "the cluster would cost {with_one_fewer}, but the budget is {needed}",
    "recovery": "HDFS would take {with_one_fewer} to copy a lost node's data again, but the limit is {needed}",
    "volume": "each node would need a volume of {with_one_fewer}, but EMR documents {needed} at most",
}
"""How the shortfall of a cluster with one node fewer reads, by the target that it misses."""
NO_PAGE_CACHE = "each node would lack {lacking} of RAM, even without the {needed} that the page cache needs"


def choice_explanations(chosen: Candidate, result: SearchResult) -> dict[str, Explanation]:
    """Explain the type and number of core nodes, and the type of the primaries."""
    pinned = chosen.inputs.requirements.cluster.primary_type
    return {
        "core.instance_type": _instance_type(result),
        "core.count": _count(result.best),
        "primary.instance_type": explain(
            "large if core_nodes > many else usual",
            "Primary nodes are {usual}, or {large} in a cluster with more than {many}.",
            "judgement: HMaster, NameNode and ResourceManager of a cluster whose data is in S3 fit the smaller type",
            usual=constant(evaluation, "PRIMARY_TYPE"),
            large=constant(evaluation, "LARGE_PRIMARY_TYPE"),
            many=constant(evaluation, "LARGE_CLUSTER_NODES", "core nodes"),
            core_nodes=figure(chosen.count, "nodes", "core.count"),
        )
        if pinned is None
        else explain("pinned", "You pinned the type.", "pinned", pinned=setting(pinned, "", "primary.type")),
    }


def _instance_type(result: SearchResult) -> Explanation:
    """Explain the type by the nearest candidate of another type, which costs more or misses more targets."""
    best = result.best
    requirements, name = best.candidate.inputs.requirements, best.candidate.instance.name
    if (pinned := requirements.cluster.core.type) is not None:
        return explain("pinned", "You pinned the type.", "pinned", pinned=setting(pinned, "", "core.type"))
    rival = min(
        (other for other in result.others if not other.lacks_memory), key=lambda other: other.rank, default=None
    )
    if rival is None:
        sentence = "No other instance type has room for this workload."
        return explain("only_type", sentence, SEARCH, only_type=computed(name, "", SEARCHED))
    names = {
        "lost_nodes": setting(requirements.targets.lost_nodes, "nodes", "targets.lost_nodes"),
        "rival": computed(rival.candidate.instance.name, "", SEARCHED),
        "missed": computed(len(best.shortfalls), "targets", SHORTFALLS),
        "missed_by_rival": computed(len(rival.shortfalls), "targets", SHORTFALLS),
        "price": figure(best.usd_per_month, "USD/month", "cost.usd_per_month"),
        "price_of_rival": computed(rival.usd_per_month, "USD/month", CANDIDATE_COST),
    }
    if len(best.shortfalls) < len(rival.shortfalls):
        sentence = (
            "The only instance type that meets your targets after losing {lost_nodes}. The next best, {rival}, misses "
            "{missed_by_rival}."
            if best.serves
            else "No instance type meets your targets. This one misses {missed}; the next best, {rival}, misses "
            "{missed_by_rival}."
        )
        return constraint("missed < missed_by_rival", sentence, SEARCH, **names)
    sentence = (
        "The cheapest instance type that still meets your targets after losing {lost_nodes}. It costs {price}; the "
        "next cheapest, {rival}, costs {price_of_rival}."
        if best.serves
        else "No instance type meets your targets. Of those that miss {missed}, this is the cheapest. It costs "
        "{price}; the next cheapest, {rival}, costs {price_of_rival}."
    )
    return constraint("missed <= missed_by_rival and price <= price_of_rival", sentence, SEARCH, **names)


def _count(best: Evaluation) -> Explanation:
    """Explain the number of nodes by the best cluster of the same type with one node fewer."""
    chosen, inputs, count = best.candidate, best.candidate.inputs, best.candidate.count
    requirements = inputs.requirements
    core, lost = requirements.cluster.core, requirements.targets.lost_nodes
    if core.count is not None:
        pinned = setting(core.count, "nodes", "core.count")
        return explain("pinned", "You pinned the number of core nodes.", "pinned", pinned=pinned)
    lost_nodes = setting(lost, "nodes", "targets.lost_nodes")
    if count == fewest_nodes(inputs):
        return explain(
            "max(fewest, lost_nodes + survivors)",
            "The fewest core nodes that this mode allows: at least {fewest} for the copies in HDFS, and at least "
            "{survivors} after losing {lost_nodes}.",
            SEARCH,
            fewest=computed(inputs.mode.min_core_nodes, "nodes", f"mode {inputs.mode}"),
            lost_nodes=lost_nodes,
            survivors=constant(search_candidate, "FEWEST_SURVIVORS", "nodes"),
        )
    if not best.serves:
        sentence = "No number of nodes meets your targets. This cluster comes nearest of those that were tried."
        return explain("tried", sentence, SEARCH, tried=computed(count, "nodes", SEARCHED))
    one_fewer = replace(requirements.cluster, core=replace(core, type=chosen.instance.name, count=count - 1))
    missed: Shortfall | None = None
    try:
        fewer = search(replace(inputs, requirements=replace(requirements, cluster=one_fewer))).best
        if len(fewer.shortfalls) <= len(best.shortfalls) and not fewer.lacks_memory:
            return constraint(
                "price <= price_with_one_fewer",
                "With one node fewer, the cluster would cost {price_with_one_fewer} instead of {price}, because it "
                "would need more expensive volumes.",
                SEARCH,
                price=figure(best.usd_per_month, "USD/month", "cost.usd_per_month"),
                price_with_one_fewer=computed(fewer.usd_per_month, "USD/month", CANDIDATE_COST),
            )
        missed = fewer.shortfalls[0]
    except LookupError:
        servers = max(chosen.survivors - 1, search_candidate.FEWEST_SURVIVORS)
        missed = volume_shortfall(inputs, chosen.instance, servers)
    lacks = missed.actual < 0
    lacking = {"lacking": computed(-missed.actual, missed.unit, SHORTFALLS)}
    return constraint(
        f"with_one_fewer {'<' if missed.actual < missed.limit else '>'} needed",
        "The fewest nodes that meet your targets: with one node fewer, "
        f"{NO_PAGE_CACHE if lacks else MEASURES[missed.target]}.",
        SEARCH,
        with_one_fewer=computed(missed.actual, missed.unit, SHORTFALLS),
        needed=computed(missed.limit, missed.unit, SHORTFALLS),
        lost_nodes=lost_nodes,
        utilisation=constant(sizing_inputs, "UTILISATION", "fraction"),
        **(lacking if lacks else {}),
    )


def role_explanations(chosen: Candidate) -> dict[str, Explanation]:
    """Explain the copies in HDFS, and how many RegionServers a master waits for."""
    mode, requirements = chosen.inputs.mode, chosen.inputs.requirements
    nodes = figure(chosen.count, "nodes", "core.count")
    lost = setting(requirements.targets.lost_nodes, "nodes", "targets.lost_nodes")
    names = {
        "core_nodes": nodes,
        "lost_nodes": lost,
        "spare": constant(system_volume, "SPARE_COPIES"),
        "fewest": constant(system_volume, "FEWEST_LOG_COPIES"),
    }
    content = "EMR's temporary files" if requirements.wal_service else "the write-ahead log"
    return {
        "hdfs_replication": explain(
            "min(core_nodes, max(fewest, lost_nodes + spare))",
            f"HDFS stores {content} in one copy more than the number of nodes that may be lost ({{lost_nodes}}), in at"
            " least {fewest} copies, but in no more copies than there are nodes.",
            "cells are only in memory and in the write-ahead log until a flush; EMR's own default is one copy up to"
            " three core nodes",
            **names,
        )
        if mode.keeps_data_in_s3
        else explain(
            "min(core_nodes, max(copies_of_data, fewest, lost_nodes + spare))",
            "HDFS keeps {copies_of_data} copies of the data, or more if more nodes may be lost, but no more copies"
            " than there are nodes.",
            "the data is stored nowhere else; EMR's own default from ten core nodes on",
            copies_of_data=computed(mode.data_copies, "", f"mode {mode}"),
            **names,
        ),
        "region_servers_to_start": explain(
            "max(fewest, core_nodes - lost_nodes)",
            "A starting master waits for as many RegionServers as remain of {core_nodes} after losing {lost_nodes}.",
            "HBase 2.6.2 ServerManager: a master stops waiting once this many servers have reported",
            core_nodes=nodes,
            lost_nodes=lost,
            fewest=constant(search_candidate, "FEWEST_SURVIVORS", "nodes"),
        ),
    }


def service_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain bottleneck, latency, requests and cost."""
    inputs, peak, count = candidate.inputs, candidate.inputs.at_peak, candidate.count
    limits, warm_gets, bill = candidate.resources(count), gets_per_second(candidate), candidate_cost(candidate)
    limit = bottleneck(limits)
    next_limit = min(other.max_reads_per_second for other in limits if other is not limit)
    workload = inputs.requirements.workload
    servers = figure(count, "nodes", "core.count")
    regions = setting(workload.regions, "regions", "workload.regions")
    spread = setting(" or ".join(dict.fromkeys(str(part.spread) for part in workload.parts)), "", "workload.spread")
    spreading = "reads spread over {regions} as workload.spread says ({spread})"
    if workload.tables:
        spreading = "the reads of each table spread over its part of {regions} as its key spread says ({spread})"
    balancer = (
        "HBase's balancer evens out the number of regions, not their reads; checked against a placement of every row"
    )
    of_peak = {} if peak is inputs else _load("peak", candidate, candidate.performance(count, at_peak=True))
    core, primary = (
        sum(line.usd_per_month for line in bill.lines if line.item.startswith(role)) for role in ("core ", "primary ")
    )
    services = sum(line.usd_per_month for line in bill.lines if not line.item.startswith(("core ", "primary ")))
    return {
        "throughput.bottleneck": constraint(
            "capacity / (per_read * busiest) <= next_limit",
            "The bottleneck is {resource}. The cluster has {capacity}, a read takes {per_read}, and the busiest server"
            " carries {busiest} times the mean load. The next resource would be used up at {next_limit}.",
            "utilisation law, with sustained limits only",
            resource=computed(limit.name, "", "warmbase.sizing.service.resource.bottleneck"),
            capacity=computed(limit.capacity, limit.unit, "warmbase.sizing.service.resource.resources"),
            per_read=computed(
                limit.demand_per_read, limit.unit.removesuffix("/s"), "warmbase.sizing.service.resource.resources"
            ),
            busiest=computed(limit.imbalance, "", "warmbase.sizing.workload.popularity.imbalance"),
            next_limit=computed(next_limit, "reads/s", "warmbase.sizing.service.resource.resources"),
        ),
        **_load("throughput", candidate, candidate.performance(count)),
        **of_peak,
        "throughput.busiest_server.requests": explain(
            "busiest(servers)",
            "The busiest of {servers} receives this many times the mean number of requests, where "
            f"{spreading}. This is the mean of {{placements}}, which give every server the same number of regions.",
            balancer,
            {"busiest": lambda servers: peak.imbalance(round(servers)).requests},
            servers=servers,
            regions=regions,
            spread=spread,
            placements=constant(popularity, "PLACEMENTS", "random placements"),
        ),
        "throughput.busiest_server.blocks": explain(
            "busiest(servers)",
            "The busiest of {servers} reads this many times the mean number of blocks from disk or S3. Blocks spread "
            "more evenly than requests, because the hottest rows ({remembered} on each server) stay in memory.",
            balancer,
            {"busiest": lambda servers: peak.imbalance(round(servers)).blocks},
            servers=servers,
            regions=regions,
            spread=spread,
            remembered=constant(popularity, "REMEMBERED_BYTES", "B"),
        ),
        **(
            {
                "s3.prefix_limit_fraction": explain(
                    "warm_gets / limit",
                    "With warm caches, the offered reads send {warm_gets} to S3, which supports {limit} for one prefix."
                    " Each block that is not cached counts as one GET, whatever the read policy of the S3 client.",
                    "Amazon S3 User Guide, optimizing performance",
                    warm_gets=computed(warm_gets, "GETs/s", "warmbase.sizing.search.evaluation.gets_per_second"),
                    limit=constant(resource, "S3_GETS_PER_SECOND_PER_PREFIX", "GETs/s"),
                )
            }
            if warm_gets
            else {}
        ),
        "cost.usd_per_month": explain(
            "core + primary + services",
            "The sum of the bill with all nodes running all month: {core} for core nodes, {primary} for primary nodes, "
            "and {services} for S3, CloudWatch, keys and endpoints.",
            inputs.world.prices.described,
            core=computed(core, "USD/month", CANDIDATE_COST),
            primary=computed(primary, "USD/month", CANDIDATE_COST),
            services=computed(services, "USD/month", CANDIDATE_COST),
        ),
    }


def _load(path: str, candidate: Candidate, reads: Performance) -> dict[str, Explanation]:
    """Explain the figures of one rate of reads, the mean one or that of the peak hour, below a path."""
    inputs = candidate.inputs.at_peak if path == "peak" else candidate.inputs
    limit, load = bottleneck(candidate.resources(candidate.count)), inputs.requirements.workload.load
    offered = (
        setting(load.concurrency, "requests in flight", "workload.reads.concurrency")
        if isinstance(load, ClosedLoad)
        else setting(load.reads_per_second, "reads/s", f"workload.reads.{'peak_' if load.of_peak else ''}per_second")
    )
    # A percentile is explained by what a block waits for: a disk, S3, or either.
    waits: dict[str, Quantity] = {}
    sentence = "S3's first byte takes {first_byte} on average."
    if candidate.data_volume is not None:
        waits["disk"] = constant(resource, "DISK_LATENCY_SECONDS", "s")
        sentence = "A disk takes {disk} on average."
    if candidate.inputs.mode.keeps_data_in_s3:
        waits["first_byte"] = constant(read, "S3_FIRST_BYTE_SECONDS", "s")
        if candidate.data_volume is not None:
            # Blocks of tables that are not cached never come from disks.
            ratio, share = candidate.hit_ratio(candidate.count), candidate.from_disks(inputs)
            waits["hit_ratio"] = (
                figure(ratio, "fraction", "hit_ratio.predicted")
                if share == ratio
                else computed(share, "fraction", "warmbase.sizing.search.candidate.Candidate.from_disks")
            )
            sentence = (
                "A disk takes {disk} and S3's first byte {first_byte} on average, and {hit_ratio} of the blocks come"
                " from disks."
            )
    weighted = ""
    if len(reads.paths) > 1:
        weighted = " Each table has so many, with its own hit ratio, and counts as much as its share of the reads."
    return {
        f"{path}.utilisation_fraction": explain(
            "served / limit",
            "The cluster serves {served}, and its bottleneck ({resource}) is used up at {limit}.",
            "utilisation law, with sustained limits only",
            served=computed(reads.load.reads_per_second, "reads/s", "warmbase.sizing.service.performance.performance"),
            limit=figure(limit.max_reads_per_second, "reads/s", f"{path}.saturation_reads_per_second"),
            resource=figure(limit.name, "", f"{path}.bottleneck"),
        ),
        f"{path}.mean_latency_ms": explain(
            "(alone + waiting) * milliseconds",
            "A read of {blocks} takes {alone} when nothing else runs, and waits {waiting} under a load of {load}.",
            "mean-value analysis (Reiser and Lavenberg) for a closed load, M/M/c for an open one",
            alone=computed(reads.load.seconds_alone, "s", "warmbase.sizing.service.resource.seconds_alone"),
            waiting=computed(reads.load.waiting_seconds, "s", "warmbase.sizing.service.queueing"),
            milliseconds=MILLISECONDS,
            blocks=computed(inputs.read.blocks, "blocks", "warmbase.sizing.workload.workload.StoredBlocks.per_read"),
            load=offered,
        ),
        f"{path}.p99_latency_ms": explain(
            "simulated_latency(quantile) * milliseconds",
            "{quantile} of the reads are faster in a simulation of {simulated_reads} with a fixed seed."
            f"{weighted} {sentence}",
            "an estimate; S3 documents 100 to 200 ms for a first byte, gp3 single-digit milliseconds",
            {"simulated_latency": reads.quantile_seconds},
            quantile=constant(performance, "TAIL_QUANTILE", "fraction"),
            simulated_reads=constant(performance, "READS", "reads"),
            milliseconds=MILLISECONDS,
            **waits,
        ),
    }
