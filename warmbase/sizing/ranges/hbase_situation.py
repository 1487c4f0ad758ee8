"""An HBase cluster's situation: the cheapest cluster that serves it, and what any other cluster costs and misses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.prices import PriceTable
from warmbase.ground.units import HOURS_PER_MONTH
from warmbase.ground.values import memoized
from warmbase.sizing.cost import nodes_usd, services_usd
from warmbase.sizing.ranges.regret import ClusterOption, Outcome
from warmbase.sizing.requirements import Layout, Requirements, World
from warmbase.sizing.search.candidate import FEWEST_SURVIVORS, Candidate, misses_hit_ratio, shortfalls
from warmbase.sizing.search.cost_grid import with_fitting_cache, within_memory
from warmbase.sizing.search.disks import hdfs_volumes, pinned_layout, planned_cache_mib
from warmbase.sizing.search.evaluation import billed_groups, budget_missed, candidate_bill, fixed_usd
from warmbase.sizing.search.search import MOST_NODES, Search, fewest_nodes, node_counts
from warmbase.sizing.server.memory import NotEnoughMemory
from warmbase.sizing.service.inputs import SizingInputs

__all__ = ["HBaseSituation"]

MISSED_HIT_RATIO: Final[tuple[str, ...]] = ("hit_ratio",)


class HBaseSituation(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """The requirements that an HBase cluster must meet, and what there is to buy."""

    requirements: Requirements
    world: World

    @property
    def environment(self) -> str:
        """Return the name of the environment."""
        return self.requirements.environment

    @property
    def count_is_fixed(self) -> bool:
        """Return whether the file states the number of nodes."""
        return self.requirements.cluster.core.count is not None

    @property
    def most_nodes(self) -> int:
        """Return the most nodes that the cluster may grow to, even if the file states their number."""
        return MOST_NODES if self.count_is_fixed else node_counts(self.inputs)[-1]

    @property
    def prices(self) -> PriceTable:
        """Return the prices of nodes and volumes."""
        return self.world.prices

    @property
    def fixed_usd(self) -> float:
        """Return what any bill contains besides the core nodes, in USD a month."""
        return fixed_usd(self.inputs)

    @cached_property
    def inputs(self) -> SizingInputs:
        """Return what all candidates share."""
        return SizingInputs.new(self.requirements, self.world)

    @cached_property
    def cheapest(self) -> tuple[ClusterOption, float] | None:
        """Return the cheapest option that meets the targets, and its bill in USD a month; None if none does."""
        count = self.requirements.cluster.core.count
        if count is not None and count <= self.requirements.targets.lost_nodes:
            return None
        try:
            best = Search(inputs=self.inputs).cheapest_serving()
        except NotEnoughMemory:
            return None
        if best is None or not best.serves:
            return None
        candidate = best.candidate
        option = ClusterOption(
            instance_type=candidate.instance.name, count=candidate.count, volumes=candidate.layout.volumes
        )
        return option, best.usd_per_month

    def target(self, field: str) -> float | None:
        """Return the value of a target; None if none is stated."""
        value: float | None = getattr(self.requirements.targets, field)
        return value

    def with_target(self, field: str, value: float) -> HBaseSituation:
        """Return the same situation with another value of a target and without a budget."""
        targets = replace(self.requirements.targets, budget_usd_per_month=None, **{field: value})
        return HBaseSituation(requirements=replace(self.requirements, targets=targets), world=self.world)

    @memoized
    def outcome(self, option: ClusterOption) -> Outcome:
        """Return the bill of an option and the targets that it misses, as if it were pinned."""
        inputs, prices = self.inputs, self.world.prices
        survivors = max(FEWEST_SURVIVORS, option.count - self.requirements.targets.lost_nodes)
        room_mib = pinned_layout(inputs, option.volumes, survivors).cache_mib
        on_volumes = Layout(cache_mib=room_mib, volumes=option.unsized_volumes)
        layout = within_memory(inputs, self.world.instance_types[option.instance_type], survivors, on_volumes)
        planned_mib = min(layout.cache_mib, planned_cache_mib(option.volumes, inputs.demand))
        services, missed = self._evaluation(option.instance_type, option.count, layout, planned_mib)
        if missed == MISSED_HIT_RATIO and layout.cache_mib < room_mib:
            hit_ratio = inputs.demand.estimated_hit_ratio(room_mib, survivors)
            missed = ("memory",) if hit_ratio >= self.requirements.targets.hit_ratio else missed
        groups = billed_groups(inputs, option.instance_type, option.count, option.volumes)
        usd_per_month = nodes_usd(groups, prices) + services
        return Outcome(
            usd_per_month=usd_per_month,
            node_usd_per_month=prices.compute[option.instance_type].usd_per_hour * HOURS_PER_MONTH,
            missed=(
                *_impossible(inputs, option),
                *missed,
                *(shortfall.target for shortfall in budget_missed(inputs, usd_per_month)),
            ),
        )

    @memoized
    def _evaluation(
        self, instance_type: str, count: int, layout: Layout, planned_mib: int
    ) -> tuple[float, tuple[str, ...]]:
        """Return the bill without the nodes, and the targets that they miss, without the budget.

        The layout has their largest cache, and `planned_mib` is the cache for which a plan would buy the volumes. Many
        options differ only in the size of their volumes. Their caches are equally large if all data fit, or if memory
        limits them.
        """
        instance = self.world.instance_types[instance_type]
        candidate = Candidate(inputs=self.inputs, instance=instance, count=count, layout=layout)
        targets = MISSED_HIT_RATIO
        if not misses_hit_ratio(candidate):  # A smaller cache has no more hits, and other targets take much longer.
            missed = shortfalls(candidate)
            fitting = with_fitting_cache(candidate, missed, planned_mib)
            if fitting is not candidate:
                candidate, missed = fitting, shortfalls(fitting)
            targets = tuple(shortfall.target for shortfall in missed)
        return services_usd(candidate_bill(candidate), self.world.prices), targets


def _impossible(inputs: SizingInputs, option: ClusterOption) -> Iterator[str]:
    """Yield the targets that no cluster of such nodes could meet, because it would lack nodes, regions or disks.

    A search proposes no such cluster, but the option is the cluster of another sample.
    """
    needs, fixed = inputs.requirements, inputs.requirements.cluster.core.count is not None
    if not fixed and option.count < fewest_nodes(inputs):
        yield "lost_nodes"
    if not fixed and option.count > max(fewest_nodes(inputs), needs.workload.regions + needs.targets.lost_nodes):
        yield "regions"
    data = next((volume for volume in option.volumes if volume.purpose == "data"), None)
    if data is not None:
        size_gib, count = hdfs_volumes(inputs, max(FEWEST_SURVIVORS, option.count - needs.targets.lost_nodes))
        if data.size_gib * data.count < size_gib * count:
            yield "volume"
