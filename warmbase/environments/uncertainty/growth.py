"""The growing workload of one cluster of an environment, whatever its engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.planning import requirements, world
from warmbase.environments.reader.ranges import RangedDocument
from warmbase.environments.uncertainty.engine_facet import planning_of
from warmbase.environments.uncertainty.samples import Sampling, sampled_environments
from warmbase.sizing.ranges.growth import growing, grown, outgrown_month, split_month
from warmbase.sizing.ranges.hbase_situation import HBaseSituation
from warmbase.sizing.ranges.regret import ClusterOption, Situation
from warmbase.sizing.workload.workload import OpenLoad

__all__ = ["Growth", "Horizon", "growth_of", "outgrown_months"]


class Growth(Struct, frozen=True, kw_only=True):
    """A workload and its growth. `rates` are per month, by table; `tables` is empty if there is one workload for all.

    `later` returns the situation after a number of months, and `figures` the data and the load at that time. The load
    is None for clients that wait for each answer. HBase splits regions from `split_month` on, which is None if it never
    does.
    """

    rates: Mapping[str, float]
    tables: Mapping[str, float]
    later: Callable[[int], Situation]
    figures: Callable[[int], Mapping[str, float | None]]
    split_month: int | None = None


class Horizon(Struct, frozen=True, kw_only=True):
    """The number of months to look ahead, and the samples of the ranges for which to do so."""

    months: int
    sampling: Sampling


def growth_of(environment: Environment, cluster: str, months: int, rate: float | None) -> Growth:
    """Return the growth of a cluster's workload over this many months.

    If the rate is None, each table, or the working set and the queries of an analytics cluster, grow as the file
    states, or at the assumed rate.
    """
    return planning_of(engine_of(environment, cluster)).growth(environment, cluster, months, rate)


def growth_of_tables(environment: Environment, cluster: str, months: int, rate: float | None) -> Growth:
    """Return the growth of the tables of HBase's cluster."""
    needs, offered = growing(requirements(environment, environment.clusters[cluster]), rate), world(environment)

    def figures(month: int) -> Mapping[str, float | None]:
        workload = grown(needs, month).workload
        load = workload.load
        reads = load.reads_per_second if isinstance(load, OpenLoad) else None
        return {"stored_bytes": workload.stored_bytes, "reads_per_second": reads}

    rates = {table.name: table.growth_per_month or 0.0 for table in needs.workload.parts}
    return Growth(
        rates=rates,
        tables=rates if needs.workload.tables else {},
        later=lambda month: HBaseSituation(requirements=grown(needs, month), world=offered),
        figures=figures,
        split_month=split_month(needs, months),
    )


def outgrown_months(
    ranged: RangedDocument, growths: Callable[[Environment], Growth], option: ClusterOption, horizon: Horizon
) -> list[int | None]:
    """Return the month in which each sample of the ranges outgrows a cluster; None if it does not within the horizon.

    `growths` returns the growth of the cluster's workload in an environment.
    """
    _, environments = sampled_environments(ranged, horizon.sampling)
    return [outgrown_month(growths(environment).later, option, horizon.months) for environment in environments]
