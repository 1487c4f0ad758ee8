"""Checks that CloudWatch has every metric of the dashboards and alarms, and can draw every graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from configurations.metrics import METRICS, OF_AGENT, MetricSource
from dashboards.boards import boards
from dashboards.graph import Graph
from dashboards.query import CLUSTER_ID
from dashboards.reads import REQUESTS_TITLE
from environments.names import emr_cluster_name
from operations.caches import NAMESPACE
from operations.verification.check import Check, CheckResult, Observed

__all__ = ["OF_WATCHING"]

OF_READS: Final = frozenset({"HitRatio", "Below90", "Below80", "MissesOver90", "MissesOver80", "GetP99"})
"""What a node publishes once something has been read."""
DRAWN_WELL, EMPTY = "drawn", "nothing in it"
DRAWN: Final = timedelta(minutes=30)  # judgement: request metrics of S3 are ten minutes late


def _agent_publishes(seen: Observed) -> Iterator[CheckResult]:
    """Names and dimensions of what EMR's agent publishes."""
    dimensions: Any = [{"Name": "cluster.id", "Value": seen.cluster.id}]
    pages: Any = seen.aws.cloudwatch.get_paginator("list_metrics").paginate(Namespace="CWAgent", Dimensions=dimensions)
    found = [metric for page in pages for metric in page["Metrics"]]
    names = {each["MetricName"] for each in found}
    for daemon in sorted(OF_AGENT):
        cached = seen.launch.plan.mode.has_bucket_cache
        wanted = {
            metric.cloudwatch for metric in METRICS if metric.source is daemon and (cached or not metric.of_cache)
        }
        missing = sorted(wanted - names)
        row = {
            MetricSource.REGION_SERVER: "JMX metrics are called",
            MetricSource.SYSTEM: "`emr-system-metrics` with `cpu`, `mem` and `disk`",
            MetricSource.MASTER: "`emr-metrics` may be set for an instance group",
        }[daemon]
        yield Check(
            f"metrics, {daemon}",
            row,
            ", ".join(sorted(wanted)),
            "correct the names in configurations/metrics.py by what list-metrics shows",
        ).result(f"missing: {', '.join(missing)}" if missing else "all are there", good=not missing)
    keys = {tuple(sorted(dimension["Name"] for dimension in each["Dimensions"])) for each in found}
    expected = ("cluster.id", "instance.id", "node.type", "service.name")
    yield Check(
        "dimensions of JMX metrics",
        "JMX metrics are called",
        ", ".join(expected),
        "correct DIMENSIONS in configurations/metrics.py",
    ).result("; ".join(", ".join(key) for key in sorted(keys)) or "nothing is published", good=expected in keys)


def _nodes_publish(seen: Observed) -> Iterator[CheckResult]:
    """Each figure of each node; of one that nothing has read yet, none of reads."""
    if not seen.launch.plan.mode.has_bucket_cache:
        return
    dimensions: Any = [{"Name": "ClusterId", "Value": seen.cluster.id}]
    pages: Any = seen.aws.cloudwatch.get_paginator("list_metrics").paginate(Namespace=NAMESPACE, Dimensions=dimensions)
    found: dict[str, set[str]] = {}
    for each in (metric for page in pages for metric in page["Metrics"]):
        found.setdefault(each["MetricName"], set()).update(
            dimension["Value"] for dimension in each["Dimensions"] if dimension["Name"] == "InstanceId"
        )
    wanted = [each.cloudwatch for each in METRICS if each.source is MetricSource.NODE]
    silent = {name: sorted({*seen.instances} - found.get(name, set())) for name in wanted}
    missing = {name: nodes for name, nodes in silent.items() if nodes and name not in OF_READS}
    unread = sorted(name for name in OF_READS if silent[name])
    if missing:
        name, nodes = next(iter(missing.items()))
        said = f"{len(missing)} figures are missing of some node: {name} of {', '.join(nodes)}"
    else:
        said = f"all but {', '.join(unread)}, for nothing was read" if unread else "all do"
    yield Check(
        "figures of caches",
        "",
        f"{len(seen.nodes)} core nodes publish {len(wanted)} figures in namespace {NAMESPACE}",
        "journalctl -u warmbase-cache-metrics on a node that is missing",
    ).result(said, good=not missing and bool(seen.instances))


def _emr_publishes(seen: Observed) -> Iterator[CheckResult]:
    dimensions: Any = [{"Name": "JobFlowId", "Value": seen.cluster.id}]
    pages: Any = seen.aws.cloudwatch.get_paginator("list_metrics").paginate(
        Namespace="AWS/ElasticMapReduce", MetricName="CoreNodesRunning", Dimensions=dimensions
    )
    count = sum(len(page["Metrics"]) for page in pages)
    yield Check(
        "EMR's own metrics",
        "`AWS/ElasticMapReduce` spells its dimension `JobFlowId`",
        "CoreNodesRunning by JobFlowId",
        "aws cloudwatch list-metrics --namespace AWS/ElasticMapReduce; correct DIMENSIONS in configurations/metrics.py",
    ).result("there" if count else "not there", good=count > 0)


def _graphs_show_something(seen: Observed) -> Iterator[CheckResult]:
    """Each expression of a dashboard, evaluated by CloudWatch itself; one is empty, too, where nothing happened."""
    plan = seen.launch.plan
    root_bucket = seen.launch.environment.in_account(seen.launch.environment.root.bucket, seen.aws.account)
    graphs = [graph for board in boards(plan, root_bucket).values() for graph in board]
    said = {graph.title: _error_text(seen, graph) for graph in graphs}
    fix = "put the graph's expression into CloudWatch's console; correct it in dashboards/"
    yield Check(
        "the graph of requests",
        "`RATE` and `SUM` take the array that `SEARCH` returns",
        "it has lines",
        fix,
    ).result(said[REQUESTS_TITLE], good=said[REQUESTS_TITLE] == DRAWN_WELL)
    refused = [f"{title}: {why}" for title, why in said.items() if why not in {DRAWN_WELL, EMPTY}]
    empty = [title for title, why in said.items() if why == EMPTY]
    found = f"refused: {refused[0]}" if refused else f"nothing in: {'; '.join(empty[:3])}" if empty else "all do"
    yield Check(
        "graphs",
        "",
        f"{len(graphs)} graphs show something of the last {DRAWN.total_seconds() / 60:.0f} minutes",
        f"nothing where nothing happened; else {fix}",
    ).result(found, good=False if refused or len(empty) == len(said) else None if empty else True)


def _error_text(seen: Observed, graph: Graph) -> str:
    try:
        return DRAWN_WELL if _shows(seen, graph) else EMPTY
    except ClientError as error:
        return str(error.response["Error"]["Message"])


def _shows(seen: Observed, graph: Graph) -> bool:
    now = datetime.now(UTC)
    asked = json.dumps([line.metric_data_query(graph.period_seconds) for line in graph.lines])
    queries: Any = json.loads(asked.replace(CLUSTER_ID, seen.cluster.id))
    pages: Any = seen.aws.cloudwatch.get_paginator("get_metric_data").paginate(
        MetricDataQueries=queries, StartTime=now - DRAWN, EndTime=now
    )
    return any(series["Values"] for page in pages for series in page["MetricDataResults"])


def _queries_find_nodes(seen: Observed) -> Iterator[CheckResult]:
    """An alarm of a Metrics Insights query that has a node's figures is not without data."""
    if not seen.launch.plan.mode.has_bucket_cache:
        return
    name = f"{emr_cluster_name(seen.launch.plan.environment, seen.launch.plan.cluster)}-server-young"
    alarms = seen.aws.cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    states = [alarm["StateValue"] for alarm in alarms]
    yield Check(
        "alarms of Metrics Insights",
        "A Metrics Insights query names our namespace",
        f"{name} is OK, or in ALARM for as long as a RegionServer is young",
        "put its query into CloudWatch's console; correct it in dashboards/query.py",
    ).result(states[0] if states else "there is none", good=bool(states) and states[0] != "INSUFFICIENT_DATA")


OF_WATCHING = (
    _agent_publishes,
    _nodes_publish,
    _emr_publishes,
    _graphs_show_something,
    _queries_find_nodes,
)
"""Every check, in the order of the report."""
