"""Why the cluster has core nodes of this type, and why it has this number of them.

Both are results of a search, so each explanation is the comparison that decided: with the next best type, and with one
node fewer of the same type.
"""

from __future__ import annotations

from msgspec.structs import replace

from warmbase.sizing.explanation import Explanation, Quantity, constraint, explain
from warmbase.sizing.explanations.quantities import computed, constant, fact, figure, setting
from warmbase.sizing.search import candidate, disks, evaluation, search
from warmbase.sizing.search.candidate import Candidate, Shortfall
from warmbase.sizing.search.evaluation import Evaluation, SearchResult
from warmbase.sizing.search.search import fewest_nodes
from warmbase.sizing.server import system_volume
from warmbase.sizing.service import inputs

__all__ = ["choice_explanations", "role_explanations"]

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
    return {
        "core.instance_type": _instance_type(result),
        "core.count": _count(result),
        "primary.instance_type": _primary_type(chosen),
    }


def _instance_type(result: SearchResult) -> Explanation:
    best, core = result.best, result.best.candidate.inputs.requirements.cluster.core
    if core.type is not None:
        return explain("pinned", "You pinned the type.", "pinned", pinned=setting(core.type, "", "core.type"))
    rivals = [other for other in result.others if not other.lacks_memory]
    if not rivals:
        name = best.candidate.instance.name
        return explain(
            "only_type",
            "No other instance type has room for this workload.",
            SEARCH,
            only_type=computed(name, "", "warmbase.sizing.search.search.search"),
        )
    return _cheaper(best, min(rivals, key=lambda other: other.rank))


def _cheaper(best: Evaluation, rival: Evaluation) -> Explanation:
    """Why the best candidate wins against the nearest of another type."""
    targets = best.candidate.inputs.requirements.targets
    names = {
        "lost_nodes": setting(targets.lost_nodes, "nodes", "targets.lost_nodes"),
        "rival": computed(rival.candidate.instance.name, "", "warmbase.sizing.search.search.search"),
        "missed": computed(len(best.shortfalls), "targets", "warmbase.sizing.search.candidate.shortfalls"),
        "missed_by_rival": computed(len(rival.shortfalls), "targets", "warmbase.sizing.search.candidate.shortfalls"),
        "price": figure(best.usd_per_month, "USD/month", "cost.usd_per_month"),
        "price_of_rival": computed(
            rival.usd_per_month, "USD/month", "warmbase.sizing.search.evaluation.candidate_cost"
        ),
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


def _count(result: SearchResult) -> Explanation:
    best = result.best
    inputs, count = best.candidate.inputs, best.candidate.count
    core, targets = inputs.requirements.cluster.core, inputs.requirements.targets
    if core.count is not None:
        pinned = setting(core.count, "nodes", "core.count")
        return explain("pinned", "You pinned the number of core nodes.", "pinned", pinned=pinned)
    if count == fewest_nodes(inputs):
        return explain(
            "max(fewest, lost_nodes + survivors)",
            "The fewest core nodes that this mode allows: at least {fewest} for the copies in HDFS, and at least "
            "{survivors} after losing {lost_nodes}.",
            SEARCH,
            fewest=fact(inputs.mode.min_core_nodes, "nodes", f"mode {inputs.mode}"),
            lost_nodes=setting(targets.lost_nodes, "nodes", "targets.lost_nodes"),
            survivors=constant(candidate, "FEWEST_SURVIVORS", "nodes"),
        )
    if not best.serves:
        return explain(
            "tried",
            "No number of nodes meets your targets. This cluster comes nearest of those that were tried.",
            SEARCH,
            tried=computed(count, "nodes", "warmbase.sizing.search.search.search"),
        )
    # The best cluster of the same type with one node fewer, or the shortfall that rules it out.
    chosen, cluster = best.candidate, inputs.requirements.cluster
    one_fewer = replace(cluster, core=replace(core, type=chosen.instance.name, count=count - 1))
    needs = replace(inputs.requirements, cluster=one_fewer)
    try:
        fewer = search.Search(inputs=replace(inputs, requirements=needs)).run().best
    except LookupError:
        servers = max(chosen.survivors - 1, candidate.FEWEST_SURVIVORS)
        return _missed(disks.volume_shortfall(inputs, chosen.instance, servers), best)
    if len(fewer.shortfalls) > len(best.shortfalls) or fewer.lacks_memory:
        return _missed(fewer.shortfalls[0], best)
    return constraint(
        "price <= price_with_one_fewer",
        "With one node fewer, the cluster would cost {price_with_one_fewer} instead of {price}, because it would need "
        "more expensive volumes.",
        SEARCH,
        price=figure(best.usd_per_month, "USD/month", "cost.usd_per_month"),
        price_with_one_fewer=computed(
            fewer.usd_per_month, "USD/month", "warmbase.sizing.search.evaluation.candidate_cost"
        ),
    )


def _missed(shortfall: Shortfall, best: Evaluation) -> Explanation:
    """Explain why one node fewer is not enough: such a cluster misses this limit."""
    symbol = "<" if shortfall.actual < shortfall.limit else ">"
    is_negative = shortfall.actual < 0
    lacking = {"lacking": computed(-shortfall.actual, shortfall.unit, "warmbase.sizing.search.candidate.shortfalls")}
    return constraint(
        f"with_one_fewer {symbol} needed",
        "The fewest nodes that meet your targets: with one node fewer, "
        f"{NO_PAGE_CACHE if is_negative else MEASURES[shortfall.target]}.",
        SEARCH,
        with_one_fewer=computed(shortfall.actual, shortfall.unit, "warmbase.sizing.search.candidate.shortfalls"),
        needed=computed(shortfall.limit, shortfall.unit, "warmbase.sizing.search.candidate.shortfalls"),
        lost_nodes=setting(best.candidate.inputs.requirements.targets.lost_nodes, "nodes", "targets.lost_nodes"),
        utilisation=constant(inputs, "UTILISATION", "fraction"),
        **(lacking if is_negative else {}),
    )


def _primary_type(chosen: Candidate) -> Explanation:
    pinned = chosen.inputs.requirements.cluster.primary_type
    if pinned is not None:
        return explain("pinned", "You pinned the type.", "pinned", pinned=setting(pinned, "", "primary.type"))
    return explain(
        "large if core_nodes > many else usual",
        "Primary nodes are {usual}, or {large} in a cluster with more than {many}.",
        "judgement: HMaster, NameNode and ResourceManager of a cluster whose data is in S3 fit the smaller type",
        usual=constant(evaluation, "PRIMARY_TYPE"),
        large=constant(evaluation, "LARGE_PRIMARY_TYPE"),
        many=constant(evaluation, "LARGE_CLUSTER_NODES", "core nodes"),
        core_nodes=figure(chosen.count, "nodes", "core.count"),
    )


def role_explanations(chosen: Candidate) -> dict[str, Explanation]:
    """Copies in HDFS, and how many RegionServers a master waits for."""
    nodes = figure(chosen.count, "nodes", "core.count")
    lost = setting(chosen.inputs.requirements.targets.lost_nodes, "nodes", "targets.lost_nodes")
    return {
        "hdfs_replication": _replication(chosen, nodes, lost),
        "region_servers_to_start": explain(
            "max(fewest, core_nodes - lost_nodes)",
            "A starting master waits for as many RegionServers as remain of {core_nodes} after losing {lost_nodes}.",
            "HBase 2.6.2 ServerManager: a master stops waiting once this many servers have reported",
            core_nodes=nodes,
            lost_nodes=lost,
            fewest=constant(candidate, "FEWEST_SURVIVORS", "nodes"),
        ),
    }


def _replication(chosen: Candidate, nodes: Quantity, lost: Quantity) -> Explanation:
    names = {
        "core_nodes": nodes,
        "lost_nodes": lost,
        "spare": constant(system_volume, "SPARE_COPIES"),
        "fewest": constant(system_volume, "FEWEST_LOG_COPIES"),
    }
    mode = chosen.inputs.mode
    if not mode.keeps_data_in_s3:
        return explain(
            "min(core_nodes, max(copies_of_data, fewest, lost_nodes + spare))",
            "HDFS keeps {copies_of_data} copies of the data, or more if more nodes may be lost, but no more copies"
            " than there are nodes.",
            "the data is stored nowhere else; EMR's own default from ten core nodes on",
            copies_of_data=fact(mode.data_copies, "", f"mode {mode}"),
            **names,
        )
    content = "EMR's temporary files" if chosen.inputs.requirements.wal_service else "the write-ahead log"
    return explain(
        "min(core_nodes, max(fewest, lost_nodes + spare))",
        f"HDFS stores {content} in one copy more than the number of nodes that may be lost ({{lost_nodes}}), in at"
        " least {fewest} copies, but in no more copies than there are nodes.",
        "cells are only in memory and in the write-ahead log until a flush; EMR's own default is one copy up to three"
        " core nodes",
        **names,
    )
