"""The metrics that the nodes of replayed servers would publish, and those of their master, their machine, S3 and EMR.

What nodes publish is computed by the node's own program, and not by a second one.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, Final

from lab.hbase.cluster_recording import Figures
from tests.dashboards.preview.cloudwatch import MetricStore, Published
from tests.dashboards.preview.replay import (
    MINUTE,
    RECORDED,
    STRETCH,
    Moment,
    ReplayedServer,
    recorded_cluster,
    three_servers,
)
from warmbase.configurations.bootstrap import program
from warmbase.configurations.metrics import METRICS, MISSES_FOR_ONE, MetricSource, metric
from warmbase.dashboards.boards import of_root
from warmbase.dashboards.expected import hdfs_percent
from warmbase.dashboards.graph import CLUSTER_ID
from warmbase.environments.environment import Root
from warmbase.sizing.plan import Plan

HISTORY_SECONDS: Final = 1_200
"""How long the servers are assumed to have run before the replay starts."""
UNKNOWN: Final = "recorded"
"""The value of the dimensions that a recording does not have, such as the type of the node."""
PUBLISHED_AS_READ: Final = {"HostsMeta": "HostsMeta", "DiskUsed": "DiskUsed", "GetP99": "Get_99th_percentile"}
"""The metrics of a node that are figures of the recording as they are."""


def replay(servers: Sequence[ReplayedServer]) -> MetricStore:
    """Return what the nodes of these servers publish each minute while the first one plays."""
    store = MetricStore()
    for server in servers:
        store.put(_of_node(server, servers[0].seconds))
        store.put(_of_agent(server, servers[0].seconds))
    store.put(_of_emr("CoreNodesRunning", float(len(servers)), servers[0].seconds))
    return store


def replayed_cluster(plan: Plan, root: Root) -> MetricStore:
    """Return all that is published of the three servers that were recorded together, and of what is around them.

    HDFS was not recorded: its data, or the write-ahead logs, take the share of it that the plan expects. In a plan that
    stores the data in HDFS, all files of a server are on its own host.
    """
    servers = three_servers()
    store, around = (
        replay(servers),
        [Moment.at(sample.seconds, sample.cluster) for sample in recorded_cluster().samples],
    )
    store.put(_of_others(around))
    store.put(_of_s3(around, root))
    store.put(_of_emr("HDFSUtilization", hdfs_percent(plan), servers[0].seconds))
    if plan.hdfs is not None:
        store.put(
            _point("percentFilesLocal", server.instance, second - 1, 100.0)
            for server in servers
            for second in range(0, server.seconds, MINUTE)
            if server.at(second) is not None
        )
    return store


def _of_node(server: ReplayedServer, seconds: int) -> Iterator[Published]:
    node = _program()
    memory: Any = None
    for second in range(-HISTORY_SECONDS, seconds, MINUTE):
        moment = server.at(second)
        figures = [node.Figure("Answering", float(moment is not None or second <= 0), "Count")]
        if moment is not None:
            counted = _counters(node, moment)
            previous = node.recalled(memory, counted, float(second), _index(moment.figures))
            if memory is not None and second - memory.at <= node.LONGEST_WINDOW_SECONDS:
                figures += node.window(memory.counters, counted, MISSES_FOR_ONE)
            figures += _current(node, server, moment, previous)
            memory = previous
        for figure in figures:
            # A data point at the end of a minute belongs to that minute.
            yield _point(figure.name, server.instance, second - 1, figure.value)


def _current(node: Any, server: ReplayedServer, moment: Moment, memory: Any) -> Iterator[Any]:
    """Yield the figures that need no window."""
    started = next(earlier.second for earlier in server.moments if earlier.starts == moment.starts)
    up = memory.at - started + (0 if moment.starts else server.up_before)
    yield node.Figure("UpSeconds", up, "Seconds")
    yield node.Figure("CacheLost", float(node.cache_lost(memory, up)), "Count")
    if "index_written" in moment.figures:
        behind = 0.0 if memory.changed_at is None else memory.at - memory.changed_at
        yield node.Figure("IndexBehindSeconds", behind, "Seconds")
    for name, attribute in PUBLISHED_AS_READ.items():
        if attribute in moment.figures:
            yield node.Figure(name, moment.figures[attribute], "None")


def _index(figures: Figures) -> Any:
    """Return a stand-in for the index file, of which the program reads only when it was written."""
    if "index_written" not in figures:
        return RECORDED / "no-such-index"
    written = SimpleNamespace(st_mtime=STRETCH * figures["index_written"])
    return SimpleNamespace(stat=lambda: written)


def _counters(node: Any, moment: Moment) -> Any:
    figures = moment.figures
    volumes = [(int(figures["VolumeBytes"]), int(figures["VolumeOperations"]))] if "VolumeBytes" in figures else []
    return node.counters({**figures, "regionServerStartTime": moment.starts}, volumes)


def _point(name: str, instance: str, second: int, value: float) -> Published:
    definition = metric(name)
    named = {"ClusterId": CLUSTER_ID, "InstanceId": instance, "cluster.id": CLUSTER_ID, "instance.id": instance}
    dimensions = {key: named.get(key, UNKNOWN) for key in definition.dimensions}
    return Published(
        namespace=definition.namespace, name=definition.cloudwatch, dimensions=dimensions, second=second, value=value
    )


def _of_agent(server: ReplayedServer, seconds: int) -> Iterator[Published]:
    for second in range(0, seconds, MINUTE):
        if (moment := server.at(second)) is not None:
            yield from _published(MetricSource.REGION_SERVER, moment.figures, server.instance, second - 1)


def _of_others(around: Sequence[Moment]) -> Iterator[Published]:
    """Yield what EMR's agent publishes of the master, and of the one machine on which everything was recorded."""
    for moment in around:
        yield from _published(MetricSource.MASTER, moment.figures, "i-primary", int(moment.second))
        yield from _published(MetricSource.SYSTEM, moment.figures, "i-machine", int(moment.second))


def _published(source: MetricSource, figures: Figures, instance: str, second: int) -> Iterator[Published]:
    for definition in METRICS:
        if definition.source is source and definition.attribute in figures:
            yield _point(definition.cloudwatch, instance, second, figures[definition.attribute])


def _of_s3(around: Sequence[Moment], root: Root) -> Iterator[Published]:
    for name in ("GetRequests", "5xxErrors"):
        dimensions = of_root(name, root).dimensions
        for before, after in pairwise(around):
            yield Published(
                namespace=MetricSource.S3,
                name=name,
                dimensions=dimensions,
                second=int(after.second),
                value=after.figures[name] - before.figures[name],
            )


def _of_emr(name: str, value: float, seconds: int) -> Iterator[Published]:
    for second in range(-HISTORY_SECONDS, seconds, MINUTE):
        yield Published(
            namespace=MetricSource.EMR, name=name, dimensions={"JobFlowId": CLUSTER_ID}, second=second, value=value
        )


def _program() -> Any:
    """The node's own, which is none of a package: it runs alone, beside one that it imports."""
    directory = str(program("publish_cache_metrics.py").parent)
    sys.path.insert(0, directory)
    try:
        return importlib.import_module("publish_cache_metrics")
    finally:
        sys.path.remove(directory)
