"""Checks that CloudWatch has every metric of the dashboards and alarms, and can draw every graph."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec.structs import replace

from configurations.metrics import METRICS, OF_AGENT, MetricSource
from dashboards.boards import boards
from dashboards.graph import Graph
from dashboards.query import CLUSTER_ID
from dashboards.reads import REQUESTS_TITLE
from environments.names import emr_cluster_name
from operations.caches import NAMESPACE
from operations.verification.check import Check, CheckResult, HBaseContext, VerificationContext

OF_READS: Final = frozenset({"HitRatio", "Below90", "Below80", "MissesOver90", "MissesOver80", "GetP99"})
"""The figures that a node publishes only after the first reads."""
DRAWN, EMPTY = "drawn", "empty"
GRAPH_REMEDY: Final = "try the expression of the graph in the CloudWatch console, and correct it in dashboards/"
PERIOD: Final = timedelta(minutes=30)  # judgement: request metrics of S3 arrive ten minutes late


def published_figures(
    context: VerificationContext, wanted: Collection[str], of_reads: frozenset[str], unit: str
) -> CheckResult:
    """Return whether this unit publishes each figure on each node; those `of_reads` may be missing before reads."""
    dimensions: Any = [{"Name": "ClusterId", "Value": context.cluster.id}]
    pages: Any = context.aws.cloudwatch.get_paginator("list_metrics").paginate(
        Namespace=NAMESPACE, Dimensions=dimensions
    )
    publishers: dict[str, set[str]] = {}
    for metric in (metric for page in pages for metric in page["Metrics"]):
        publishers.setdefault(metric["MetricName"], set()).update(
            dimension["Value"] for dimension in metric["Dimensions"] if dimension["Name"] == "InstanceId"
        )
    silent = {name: sorted({*context.instances} - publishers.get(name, set())) for name in wanted}
    missing = {name: nodes for name, nodes in silent.items() if nodes and name not in of_reads}
    unread = sorted(name for name in of_reads if silent[name])
    if missing:
        name, nodes = next(iter(missing.items()))
        observed = f"{len(missing)} figures are incomplete: {name} is missing from {', '.join(nodes)}"
    else:
        observed = f"all but {', '.join(unread)}: there have been no reads yet" if unread else "all are published"
    return Check(
        "cache figures",
        "",
        f"{len(context.nodes)} core nodes publish {len(wanted)} figures in namespace {NAMESPACE}",
        f"run journalctl -u {unit} on a node whose figures are missing",
    ).result(observed, good=not missing and bool(context.instances))


def emr_metrics(context: VerificationContext) -> Iterator[CheckResult]:
    """Check that EMR publishes the metrics of its cluster under the dimension that the alarms use."""
    dimensions: Any = [{"Name": "JobFlowId", "Value": context.cluster.id}]
    pages: Any = context.aws.cloudwatch.get_paginator("list_metrics").paginate(
        Namespace="AWS/ElasticMapReduce", MetricName="CoreNodesRunning", Dimensions=dimensions
    )
    count = sum(len(page["Metrics"]) for page in pages)
    yield Check(
        "EMR's own metrics",
        "`AWS/ElasticMapReduce` spells its dimension `JobFlowId`",
        "CoreNodesRunning has the dimension JobFlowId",
        "run aws cloudwatch list-metrics --namespace AWS/ElasticMapReduce, and correct DIMENSIONS in "
        "configurations/metrics.py",
    ).result("published" if count else "not published", good=count > 0)


def graph_outcomes(context: VerificationContext, graphs: Sequence[Graph]) -> Mapping[str, str]:
    """Evaluate each graph in CloudWatch itself; return `DRAWN`, `EMPTY` or CloudWatch's refusal by its title."""
    return {graph.title: _outcome(context, graph) for graph in graphs}


def graphs_with_data(outcomes: Mapping[str, str]) -> CheckResult:
    """Return whether all graphs of the dashboards have data; a graph is also empty when nothing has happened."""
    refused = [f"{title}: {why}" for title, why in outcomes.items() if why not in {DRAWN, EMPTY}]
    empty = [title for title, why in outcomes.items() if why == EMPTY]
    observed = f"refused: {refused[0]}" if refused else f"empty: {'; '.join(empty[:3])}" if empty else "all have data"
    return Check(
        "graphs",
        "",
        f"{len(outcomes)} graphs have data from the last {PERIOD.total_seconds() / 60:.0f} minutes",
        f"nothing if the cluster was idle; otherwise {GRAPH_REMEDY}",
    ).result(observed, good=False if refused or len(empty) == len(outcomes) else None if empty else True)


def _outcome(context: VerificationContext, graph: Graph) -> str:
    try:
        return DRAWN if _shows(context, graph) else EMPTY
    except ClientError as error:
        return str(error.response["Error"]["Message"])


def _shows(context: VerificationContext, graph: Graph) -> bool:
    now = datetime.now(UTC)
    template = json.dumps([line.metric_data_query(graph.period_seconds) for line in graph.lines])
    queries: Any = json.loads(template.replace(CLUSTER_ID, context.cluster.id))
    pages: Any = context.aws.cloudwatch.get_paginator("get_metric_data").paginate(
        MetricDataQueries=queries, StartTime=now - PERIOD, EndTime=now
    )
    return any(series["Values"] for page in pages for series in page["MetricDataResults"])


def query_alarm(context: VerificationContext, alarm: str, expected: str) -> CheckResult:
    """Return whether an alarm on a Metrics Insights query has data; `alarm` is the end of its name."""
    name = f"{emr_cluster_name(context.launch.plan.environment, context.launch.plan.cluster)}-{alarm}"
    alarms = context.aws.cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    states = [alarm["StateValue"] for alarm in alarms]
    return Check(
        "alarms on Metrics Insights queries",
        "A Metrics Insights query names our namespace",
        f"{name} is {expected}",
        "try the query of the alarm in the CloudWatch console, and correct it in dashboards/query.py",
    ).result(
        states[0] if states else "the alarm does not exist", good=bool(states) and states[0] != "INSUFFICIENT_DATA"
    )


def _agent_publishes(context: HBaseContext) -> Iterator[CheckResult]:
    """Check the names and dimensions of the metrics that EMR's CloudWatch agent publishes."""
    dimensions: Any = [{"Name": "cluster.id", "Value": context.cluster.id}]
    pages: Any = context.aws.cloudwatch.get_paginator("list_metrics").paginate(
        Namespace="CWAgent", Dimensions=dimensions
    )
    metrics = [metric for page in pages for metric in page["Metrics"]]
    names = {metric["MetricName"] for metric in metrics}
    for daemon in sorted(OF_AGENT):
        mode = context.launch.plan.mode
        wanted = {metric.cloudwatch for metric in METRICS if metric.source is daemon and metric.is_published_in(mode)}
        missing = sorted(wanted - names)
        row = {
            MetricSource.REGION_SERVER: "JMX metrics are named",
            MetricSource.SYSTEM: "`emr-system-metrics` with `cpu`, `mem` and `disk`",
            MetricSource.MASTER: "`emr-metrics` can be set for an instance group",
        }[daemon]
        yield Check(
            f"metrics, {daemon}",
            row,
            ", ".join(sorted(wanted)),
            "run aws cloudwatch list-metrics, and correct the names in configurations/metrics.py",
        ).result(f"missing: {', '.join(missing)}" if missing else "all are published", good=not missing)
    keys = {tuple(sorted(dimension["Name"] for dimension in metric["Dimensions"])) for metric in metrics}
    expected = ("cluster.id", "instance.id", "node.type", "service.name")
    yield Check(
        "dimensions of JMX metrics",
        "JMX metrics are named",
        ", ".join(expected),
        "correct DIMENSIONS in configurations/metrics.py",
    ).result("; ".join(", ".join(key) for key in sorted(keys)) or "no metric is published", good=expected in keys)


def _nodes_publish(context: HBaseContext) -> Iterator[CheckResult]:
    if context.launch.plan.mode.has_bucket_cache:
        wanted = [figure.cloudwatch for figure in METRICS if figure.source is MetricSource.NODE]
        yield published_figures(context, wanted, OF_READS, "warmbase-cache-metrics")


def _graphs_show_something(context: HBaseContext) -> Iterator[CheckResult]:
    root = context.launch.environment.root
    root = replace(root, bucket=root.bucket_in(context.aws.account))
    graphs = [graph for board in boards(context.launch.plan, root).values() for graph in board]
    outcomes = graph_outcomes(context, graphs)
    yield Check(
        "graph of requests",
        "`RATE` and `SUM` take the array that `SEARCH` returns",
        "the graph has lines",
        GRAPH_REMEDY,
    ).result(outcomes[REQUESTS_TITLE], good=outcomes[REQUESTS_TITLE] == DRAWN)
    yield graphs_with_data(outcomes)


def _queries_find_nodes(context: HBaseContext) -> Iterator[CheckResult]:
    if context.launch.plan.mode.has_bucket_cache:
        expected = "OK, or in ALARM for half an hour after a RegionServer starts"
        yield query_alarm(context, "server-young", expected)


MONITORING_CHECKS = (
    _agent_publishes,
    _nodes_publish,
    emr_metrics,
    _graphs_show_something,
    _queries_find_nodes,
)
"""Every check, in the order of the report."""
