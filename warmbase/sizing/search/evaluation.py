"""A candidate with its bill and the targets that it misses, and the result of a search.

The bill counts the nodes, the primaries, and the services that the stacks create around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from warmbase.ground.instance import InstanceType
from warmbase.ground.units import format_usd
from warmbase.sizing.cost import Bill, BilledGroup, Cost, bill_usd, cost
from warmbase.sizing.requirements import Volume
from warmbase.sizing.search.candidate import Candidate, Shortfall
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.read import Hits, missing_blocks


class Evaluation(Struct, frozen=True, kw_only=True):
    """A candidate with what its cluster costs in a month, and the targets it misses."""

    candidate: Candidate
    usd_per_month: float
    shortfalls: Sequence[Shortfall]

    @property
    def serves(self) -> bool:
        """Return whether the candidate meets all targets."""
        return not self.shortfalls

    @property
    def lacks_memory(self) -> bool:
        """Return whether the nodes lack the memory to run at all."""
        return any(shortfall.target == "memory" for shortfall in self.shortfalls)

    @property
    def rank(self) -> tuple[bool, int, float, int]:
        """Return the order of candidates: those that can run, then fewest shortfalls, lowest price, fewest nodes."""
        return (self.lacks_memory, len(self.shortfalls), self.usd_per_month, self.candidate.count)


class Unevaluated(Struct, frozen=True, kw_only=True):
    """A type that was not evaluated, because even the fewest nodes that could serve cost more than the winner."""

    instance: InstanceType
    count: int
    least_usd_per_month: float


class SearchResult(Struct, frozen=True, kw_only=True):
    """The cheapest candidate that serves, or else the nearest, and the nearest of every other type.

    `evaluated` candidates had everything computed, `pruned` clusters (types and counts) were too dear or too weak to
    look at.
    """

    best: Evaluation
    others: tuple[Evaluation, ...]
    dearer: tuple[Unevaluated, ...]
    evaluated: int
    pruned: int


def budget_missed(inputs: SizingInputs, usd_per_month: float) -> list[Shortfall]:
    """Return the shortfall of a bill that exceeds the budget; empty if it does not."""
    budget = inputs.requirements.targets.budget_usd_per_month
    if budget is None or usd_per_month <= budget:
        return []
    reason = f"it costs {format_usd(usd_per_month)} a month; the budget is {format_usd(budget)}"
    return [
        Shortfall(
            target="budget",
            reason=reason,
            actual=usd_per_month,
            limit=budget,
            unit="USD/month",
        )
    ]


PRIMARY_TYPE: Final = "m8g.xlarge"
"""judgement: HMaster, NameNode and ResourceManager of a cluster whose data is not in HDFS fit 16 GiB."""
LARGE_PRIMARY_TYPE: Final = "m8g.2xlarge"
LARGE_CLUSTER_NODES: Final = 50  # judgement: regions and heartbeats grow with the nodes
PRIMARY_VOLUMES: Final = (Volume(purpose="system", type="gp3", count=2, size_gib=64, iops=3000, throughput_mib_s=125),)
"""Two of 64 GiB, as in the published recipe: NameNode, ZooKeeper and logs."""

# What the stacks create around the nodes; tests hold these against the synthesised templates.
REGION_SERVER_METRICS: Final = 6
HDFS_METRICS: Final = 1  # the locality of each RegionServer
NODE_METRICS: Final = 21  # what each node publishes itself of its cache, once a minute
MASTER_METRICS: Final = 2
SYSTEM_METRICS: Final = 3  # of each node, in place of the CloudWatch agent's 34
ALARMS: Final = 1
ALARMS_OF_S3: Final = 2  # beside it, where the data are there; with a cache one of them is of the nodes
ALARMS_OF_NODES: Final = 14  # at most, where there is a cache: each is charged for each node that its query finds
COMPOSITE_AS_ALARMS: Final = 5  # a composite alarm is sold at the price of five
INTERFACE_ENDPOINTS: Final = 5
KMS_KEYS: Final = 2
CANDIDATES: Final = 256  # whose bills are cached: a search compares them, and tells them to its other branches


def primary_type(inputs: SizingInputs, core_nodes: int) -> str:
    """Return the pinned type, or one that suits the number of core nodes."""
    pinned = inputs.requirements.cluster.primary_type
    if pinned is not None:
        return pinned
    return LARGE_PRIMARY_TYPE if core_nodes > LARGE_CLUSTER_NODES else PRIMARY_TYPE


def gets_per_second(candidate: Candidate) -> float:
    """Return the GETs a second that warm caches on all nodes send to S3 if all offered reads are served.

    Return 0 for a benchmark, which is not a month's load. An overloaded cluster sends fewer, but its bill is not lower:
    it must not seem cheaper than a cluster that meets the targets.
    """
    inputs = candidate.inputs
    if not inputs.mode.keeps_data_in_s3:
        return 0.0
    hits = Hits(ratio=candidate.hit_ratio(candidate.count))
    return (inputs.offered_reads_per_second or 0.0) * missing_blocks(inputs.read, hits)


def candidate_cost(candidate: Candidate) -> Cost:
    """Return the whole environment for a month with this candidate as its cluster."""
    inputs = candidate.inputs
    groups = billed_groups(inputs, candidate.instance.name, candidate.count, candidate.layout.volumes)
    return cost(groups, candidate_bill(candidate), inputs.world.prices)


@lru_cache(maxsize=CANDIDATES)
def candidate_usd(candidate: Candidate) -> float:
    """Return the sum of `candidate_cost`."""
    inputs = candidate.inputs
    groups = billed_groups(inputs, candidate.instance.name, candidate.count, candidate.layout.volumes)
    return bill_usd(groups, candidate_bill(candidate), inputs.world.prices)


def billed_groups(
    inputs: SizingInputs, instance_type: str, count: int, volumes: tuple[Volume, ...]
) -> tuple[BilledGroup, BilledGroup]:
    """Return these core nodes and the primary nodes beside them."""
    return (
        BilledGroup(role="core", instance_type=instance_type, count=count, volumes=volumes),
        BilledGroup(
            role="primary",
            instance_type=primary_type(inputs, count),
            count=inputs.requirements.cluster.primaries,
            volumes=PRIMARY_VOLUMES,
        ),
    )


def candidate_bill(candidate: Candidate) -> Bill:
    """Return what is billed besides the nodes of the candidate."""
    gets, uploaded = gets_per_second(candidate), 0.0
    if written := candidate.inputs.requirements.workload.write_bytes_per_second:
        server = candidate.writing_server  # its flushes and compactions send this to S3
        uploaded = written / server.cells.value_bytes * server.uploaded_bytes
    return _bill(candidate.inputs, candidate.count, gets, uploaded)


def fixed_usd(inputs: SizingInputs) -> float:
    """Return what the environment costs a month before the first core node: less than any candidate's bill."""
    _, primaries = billed_groups(inputs, "", 0, ())  # no cluster has cheaper primary nodes
    uploaded = inputs.written_bytes_per_second if inputs.mode.keeps_data_in_s3 else 0.0
    return bill_usd((primaries,), _bill(inputs, 0, 0.0, uploaded), inputs.world.prices)


def _bill(inputs: SizingInputs, core_nodes: int, gets: float, uploaded_bytes_per_second: float) -> Bill:
    """Return what is billed besides this many core nodes and their primaries.

    An alarm counts as many as the alarms on one metric that would cost the same. Source: CloudWatch's price list.
    """
    requirements, mode = inputs.requirements, inputs.mode
    primaries = requirements.cluster.primaries
    of_cache = NODE_METRICS if mode.has_bucket_cache else 0
    of_hdfs = 0 if mode.keeps_data_in_s3 else HDFS_METRICS
    metrics = (core_nodes + primaries) * SYSTEM_METRICS + primaries * MASTER_METRICS
    of_s3 = (ALARMS_OF_S3 - mode.has_bucket_cache) if mode.keeps_data_in_s3 else 0
    of_nodes = ALARMS_OF_NODES * core_nodes if mode.has_bucket_cache else 0
    return Bill(
        stored_bytes=requirements.workload.stored_bytes if mode.keeps_data_in_s3 else 0,
        written_bytes_per_second=uploaded_bytes_per_second,
        gets_per_second=gets,
        custom_metrics=metrics + core_nodes * (REGION_SERVER_METRICS + of_cache + of_hdfs),
        dashboards=len(mode.dashboards),
        alarms=ALARMS + of_s3 + of_nodes + COMPOSITE_AS_ALARMS * len(mode.composite_alarms),
        interface_endpoints=INTERFACE_ENDPOINTS + requirements.wal_service if requirements.new_network else 0,
        kms_keys=KMS_KEYS,
    )
