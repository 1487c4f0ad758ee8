"""Every instance type and node count that could serve, and the cheapest that does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sizing import gp3
from sizing.bill import candidate_cost
from sizing.candidate import UTILISATION, Candidate, Question, Shortfall
from sizing.cluster import Volume
from sizing.disks import cache_mib_within, cache_volume_gib, node_volumes
from sizing.instance import InstanceType
from sizing.resource import Hits, disk_bytes_per_read, disk_ios_per_read
from sizing.units import MIB

__all__ = ["Found", "Try", "search"]

FEWEST_NODES: Final = 2  # the write-ahead log lies in HDFS and is kept twice
MOST_NODES: Final = 400  # judgement: past this, split the cluster (one NameNode, one master)


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """A candidate with what its cluster costs in a month, and the targets it misses."""

    candidate: Candidate
    usd_per_month: float
    shortfalls: Sequence[Shortfall]

    @property
    def serves(self) -> bool:
        """Whether it misses nothing."""
        return not self.shortfalls

    @property
    def rank(self) -> tuple[int, float, int]:
        """Fewest shortfalls first, then the cheapest, then the fewest nodes."""
        return (len(self.shortfalls), self.usd_per_month, self.candidate.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The cheapest candidate that serves, or the nearest that does not; the others in order of rank."""

    best: Try
    others: tuple[Try, ...]


def search(question: Question) -> Found:
    """For each type the fewest nodes that serve; of those the cheapest, of equals the fewest nodes.

    A cluster of one type costs more with every node, so the first count that serves is that type's cheapest, and
    a type is given up at the count where it already costs more than the best found.
    """
    tries: list[Try] = []
    limit_usd = math.inf
    for instance in _instances(question):
        tried = _fewest_nodes(question, instance, limit_usd)
        tries.append(tried)
        if tried.serves:
            limit_usd = min(limit_usd, tried.usd_per_month)
    best, *others = sorted(tries, key=lambda tried: tried.rank)
    return Found(best=best, others=tuple(others))


def _instances(question: Question) -> Sequence[InstanceType]:
    """The types that may be chosen, cheapest node first, so that the limit falls early."""
    choice, world = question.requirements.cluster.core, question.world
    if choice.type is not None:
        return [world.instance_types[choice.type]]
    allowed = [instance for instance in world.offered if instance.family in choice.families]
    return sorted(allowed, key=lambda instance: world.prices.compute[instance.name].usd_per_hour)


def _counts(question: Question) -> Iterator[int]:
    core, lost_nodes = question.requirements.cluster.core, question.requirements.targets.lost_nodes
    if core.count is not None:
        yield core.count
        return
    fewest = max(FEWEST_NODES, lost_nodes + 1)
    if core.volumes is None:
        fewest = max(fewest, _nodes_for_documented_volumes(question) + lost_nodes)
    yield from range(fewest, max(fewest, MOST_NODES) + 1)


def _nodes_for_documented_volumes(question: Question) -> int:
    """Nodes from which on each one's cache fits a volume of the size that EMR documents."""
    demand, wanted = question.demand, question.requirements.targets.hit_ratio
    nodes = math.ceil(cache_volume_gib(demand.size_mib(wanted, 1), demand) / gp3.EMR_DOCUMENTED_GIB)
    while cache_volume_gib(demand.size_mib(wanted, nodes), demand) > gp3.EMR_DOCUMENTED_GIB:
        nodes += 1
    return nodes


def _fewest_nodes(question: Question, instance: InstanceType, limit_usd: float) -> Try:
    for count in _counts(question):
        tried = _try(question, instance, count)
        if tried.serves or tried.usd_per_month > limit_usd:
            break
    return tried


def _try(question: Question, instance: InstanceType, count: int) -> Try:
    candidate = _candidate(question, instance, count)
    return Try(
        candidate=candidate,
        usd_per_month=candidate_cost(candidate).usd_per_month,
        shortfalls=tuple(candidate.shortfalls()),
    )


def _candidate(question: Question, instance: InstanceType, count: int) -> Candidate:
    requirements, demand = question.requirements, question.demand
    survivors = max(1, count - requirements.targets.lost_nodes)
    cache_mib = demand.size_mib(requirements.targets.hit_ratio, survivors)
    volumes = requirements.cluster.core.volumes
    if volumes is None:
        volumes = _volumes(question, instance, survivors, cache_mib)
    else:
        cache = next(volume for volume in volumes if volume.purpose == "cache")
        cache_mib = min(cache_mib, cache_mib_within(cache, demand))
    return Candidate(question=question, instance=instance, count=count, volumes=tuple(volumes), cache_mib=cache_mib)


def _volumes(question: Question, instance: InstanceType, survivors: int, cache_mib: int) -> tuple[Volume, ...]:
    """Volumes that carry the offered load on the survivors, as far as EMR and the instance allow."""
    hits = Hits(ratio=question.demand.hit_ratio(cache_mib, survivors))
    reads_per_second = (question.offered_reads_per_second or 0.0) / survivors / UTILISATION
    most_mib_s = min(gp3.EMR_DOCUMENTED_MIB_S, max(gp3.INCLUDED_MIB_S, instance.ebs_sustained_bytes_per_second // MIB))
    wanted = reads_per_second * disk_bytes_per_read(question.read, hits)
    ios = reads_per_second * disk_ios_per_read(question.read, hits, "ebs")
    return node_volumes(
        cache_volume_gib(cache_mib, question.demand),
        min(gp3.provisioned_throughput_mib_s(wanted), most_mib_s),
        math.ceil(min(ios, instance.ebs_sustained_iops)),
    )
