"""The dashboard of an analytics cluster: what its caches answer, how full they are, and what they lose."""

from __future__ import annotations

from collections.abc import Mapping

from configurations.engines.trino.metrics import TRINO_METRICS
from dashboards.graph import MINUTE, Graph, GraphLine, Mark, board_body
from dashboards.node import disk_graph, of_cluster
from dashboards.query import Statistic, search
from environments.names import emr_cluster_name
from sizing.engines.trino.plan import TrinoPlan
from sizing.units import GIB, MIB


def trino_dashboards(plan: TrinoPlan, region: str) -> Mapping[str, str]:
    """Return each DashboardBody by its dashboard's name; CloudFormation fills in `${ClusterId}`."""
    return {name: board_body(graphs, region) for name, graphs in trino_boards(plan).items()}


def trino_boards(plan: TrinoPlan) -> Mapping[str, tuple[Graph, ...]]:
    """Return the graphs of the one dashboard, from the cluster to its workers, and from the state to its causes."""
    graphs = (
        _hit_rate(plan),
        _worst(plan),
        _by_worker(plan),
        _hit_rate_of_reads(),
        _bytes(),
        _reads(),
        _space(plan),
        _evictions(plan),
        disk_graph(TRINO_METRICS["DiskUsed"], "Fullest cache volume in use, by worker"),
        _workers(plan),
    )
    return {f"{emr_cluster_name(plan.environment, plan.cluster)}-cache": graphs}


def _of(name: str, statistic: Statistic) -> str:
    return search(TRINO_METRICS[name], statistic, MINUTE)


def _marks(plan: TrinoPlan) -> tuple[Mark, Mark]:
    return (
        Mark(value=round(plan.hit_rate, 4), label="planned when warm"),
        Mark(value=round(plan.least_hit_rate, 4), label="alarm below this, for half an hour"),
    )


def _ratio(cached: str, fetched: str, label: str) -> tuple[GraphLine, GraphLine, GraphLine]:
    """Return the ratio of a minute: both metrics are summed over the workers before they are divided."""
    return (
        GraphLine(of=f"SUM({_of(cached, 'Sum')})", id="cached", label="from the caches", visible=False),
        GraphLine(of=f"SUM({_of(fetched, 'Sum')})", id="fetched", label="from S3", visible=False),
        GraphLine(of="cached / (cached + fetched)", id="ratio", label=label),
    )


def _hit_rate(plan: TrinoPlan) -> Graph:
    return Graph(
        title="HitRate per minute, all workers, weighted by bytes",
        lines=_ratio("ReadFromCache", "ReadFromRemote", "hit rate"),
        unit="hit rate",
        most=1.0,
        marks=_marks(plan),
    )


def _worst(plan: TrinoPlan) -> Graph:
    return Graph(
        title="HitRate per minute, worst worker",
        lines=(GraphLine(of=f"MIN({_of('HitRate', 'Minimum')})", id="worst", label="lowest hit rate"),),
        unit="hit rate",
        most=1.0,
        marks=_marks(plan),
    )


def _by_worker(plan: TrinoPlan) -> Graph:
    return Graph(
        title="HitRate per minute, by worker",
        lines=(GraphLine(of=_of("HitRate", "Average"), id="rates"),),
        unit="hit rate",
        most=1.0,
        marks=_marks(plan),
    )


def _hit_rate_of_reads() -> Graph:
    return Graph(
        title="Share of reads that the caches answer, all workers, weighted by reads",
        lines=_ratio("CacheReads", "RemoteReads", "share of reads"),
        unit="share of reads",
        most=1.0,
    )


def _bytes() -> Graph:
    return Graph(
        title="ReadFromCache and ReadFromRemote per second, all workers",
        lines=(
            GraphLine(of=f"SUM({_of('ReadFromCache', 'Sum')}) / {MINUTE * MIB}", id="cached", label="ReadFromCache"),
            GraphLine(of=f"SUM({_of('ReadFromRemote', 'Sum')}) / {MINUTE * MIB}", id="fetched", label="ReadFromRemote"),
        ),
        unit="MiB/s",
    )


def _reads() -> Graph:
    return Graph(
        title="Reads per second, all workers",
        lines=(
            GraphLine(of=f"SUM({_of('CacheReads', 'Sum')}) / {MINUTE}", id="cached", label="from the caches"),
            GraphLine(of=f"SUM({_of('RemoteReads', 'Sum')}) / {MINUTE}", id="fetched", label="GETs to S3"),
        ),
        unit="reads/s",
    )


def _space(plan: TrinoPlan) -> Graph:
    return Graph(
        title="Bytes of cached pages, by worker",
        lines=(GraphLine(of=f"{_of('SpaceUsed', 'Average')} / {GIB}", id="used"),),
        unit="GiB",
        marks=(
            Mark(value=plan.cache.size_gib, label="planned size of a worker's cache"),
            Mark(value=round(plan.warm_cache_bytes / GIB, 1), label="planned when warm"),
        ),
    )


def _evictions(plan: TrinoPlan) -> Graph:
    fits = plan.cache.pages >= plan.cache.working_set_pages
    expected = "none planned" if fits else "planned, because not the whole working set fits"
    return Graph(
        title=f"Pages evicted per second, all workers ({expected})",
        lines=(GraphLine(of=f"SUM({_of('PagesEvicted', 'Sum')}) / {MINUTE}", id="evicted", label="evicted"),),
        unit="pages/s",
    )


def _workers(plan: TrinoPlan) -> Graph:
    return Graph(
        title="Workers that respond, and their nodes",
        lines=(
            GraphLine(of=f"SUM({_of('Answering', 'Minimum')})", id="answering", label="workers that respond"),
            GraphLine(of=of_cluster("CoreNodesRunning"), id="nodes", label="core nodes"),
        ),
        unit="workers",
        marks=(Mark(value=plan.workers.count, label="planned workers"),),
    )
