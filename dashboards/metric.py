"""The metrics that we draw, as CloudWatch names them, and the searches that find them.

EMR's agent publishes to namespace `CWAgent` with exactly these four dimensions (Release Guide,
AmazonCloudWatchAgent-metrics). The value of `service.name` for HBase is not documented, so it is never written down:
SEARCH finds it.
"""

from __future__ import annotations

from typing import Final

from configurations.metrics import Metric

__all__ = ["CLUSTER_ID", "search"]

CLUSTER_ID: Final = "${ClusterId}"
"""Where CloudFormation puts the id of the cluster."""

DIMENSIONS: Final = '{CWAgent,"cluster.id","instance.id","node.type","service.name"}'


def search(metric: Metric, statistic: str, period_seconds: int) -> str:
    """A metric-math SEARCH for one metric of every daemon, or node, of the cluster that publishes it."""
    terms = f'MetricName="{metric.cloudwatch}" "cluster.id"="{CLUSTER_ID}"'
    return f"SEARCH('{DIMENSIONS} {terms}', '{statistic}', {period_seconds})"
