"""The dashboard of one cluster: its cache, what still goes to S3, its requests, its nodes.

The lifetime ratio `l2CacheHitRatio` is not drawn: it averages over everything since each server's start. What is
drawn are differences of counters, summed over the servers before they are divided.
"""

from __future__ import annotations

import json
from typing import Any, Final

from configurations.metrics import metric
from dashboards.alarm import ROOT_METRICS_FILTER
from dashboards.metric import search
from environments.names import cluster_name
from sizing.plan import Plan
from sizing.units import MIB

__all__ = ["dashboard_body", "dashboard_name"]

MINUTE: Final = 60
FIVE_MINUTES: Final = 300
WIDTH: Final = 12
HEIGHT: Final = 6
COLUMNS: Final = 2


def dashboard_name(plan: Plan) -> str:
    """One dashboard for each cluster."""
    return f"{cluster_name(plan.environment, plan.cluster)}-cache"


def dashboard_body(plan: Plan, region: str, root_bucket: str) -> str:
    """The DashboardBody, as JSON; `${ClusterId}` in it is CloudFormation's to fill in."""
    graphs = (
        *((_fill(plan), _hits_and_misses(), _hit_ratio()) if plan.mode.cached else ()),
        *((_s3_gets(root_bucket),) if plan.mode.in_s3 else ()),
        *((_lost_blocks(),) if plan.mode.cached else ()),
        _requests(),
        _latency(),
        _handlers(plan),
        _standing_still(),
        _nodes(),
    )
    widgets = [
        {
            "type": "metric",
            "x": WIDTH * (index % COLUMNS),
            "y": HEIGHT * (index // COLUMNS),
            "width": WIDTH,
            "height": HEIGHT,
            "properties": {"region": region, "view": "timeSeries", "stacked": False, **graph},
        }
        for index, graph in enumerate(graphs)
    ]
    return json.dumps({"widgets": widgets}, indent=1)


def _expression(expression: str, label: str, identity: str, *, visible: bool = True) -> list[dict[str, Any]]:
    return [{"expression": expression, "label": label, "id": identity, "visible": visible}]


def _fill(plan: Plan) -> dict[str, Any]:
    capacity_bytes = plan.cache.size_mib * MIB
    return {
        "title": "Cache filled, by RegionServer (bytes of slots; eviction starts at 95 %)",
        "metrics": [_expression(search(metric("l2CacheSize"), "Average", MINUTE), "", "fill")],
        "period": MINUTE,
        "yAxis": {"left": {"min": 0, "label": "bytes", "showUnits": False}},
        "annotations": {"horizontal": [{"label": "planned size", "value": capacity_bytes}]},
    }


def _hits_and_misses() -> dict[str, Any]:
    return {
        "title": "Block reads a second, all RegionServers (a dip below zero is a restart: counters begin again)",
        "metrics": [
            _expression(_rate("l2CacheHitCount"), "hits", "hits"),
            _expression(_rate("l2CacheMissCount"), "misses", "misses"),
        ],
        "period": MINUTE,
        "yAxis": {"left": {"label": "blocks/s", "showUnits": False}},
    }


def _hit_ratio() -> dict[str, Any]:
    return {
        "title": "Hit ratio by the minute, weighted by requests, all RegionServers",
        "metrics": [
            _expression(_rate("l2CacheHitCount"), "hits", "hits", visible=False),
            _expression(_rate("l2CacheMissCount"), "misses", "misses", visible=False),
            _expression("hits / (hits + misses)", "hit ratio", "ratio"),
        ],
        "period": MINUTE,
        "yAxis": {"left": {"min": 0, "max": 1, "label": "0 to 1", "showUnits": False}},
    }


def _s3_gets(root_bucket: str) -> dict[str, Any]:
    metric = ["AWS/S3", "GetRequests", "BucketName", root_bucket, "FilterId", ROOT_METRICS_FILTER]
    return {
        "title": "GETs of the HBase root in five minutes",
        "metrics": [[*metric, {"stat": "Sum", "label": "GETs"}]],
        "period": FIVE_MINUTES,
        "yAxis": {"left": {"min": 0, "label": "requests", "showUnits": False}},
    }


def _lost_blocks() -> dict[str, Any]:
    return {
        "title": "Blocks evicted, and blocks not cached because a writer's queue was full, all RegionServers",
        "metrics": [
            _expression(_rate("l2CacheEvictionCount"), "evicted", "evicted"),
            _expression(_rate("blockCacheFailedInsertionCount"), "not cached", "failed"),
        ],
        "period": MINUTE,
        "yAxis": {"left": {"label": "blocks/s", "showUnits": False}},
    }


def _requests() -> dict[str, Any]:
    return {
        "title": "Requests a second, all RegionServers",
        "metrics": [
            _expression(_rate("readRequestCount"), "reads", "reads"),
            _expression(_rate("writeRequestCount"), "writes", "writes"),
        ],
        "period": MINUTE,
        "yAxis": {"left": {"label": "requests/s", "showUnits": False}},
    }


def _latency() -> dict[str, Any]:
    return {
        "title": "Gets: 99 of 100 were served within, by RegionServer",
        "metrics": [_expression(search(metric("Get_99th_percentile"), "Maximum", MINUTE), "", "p99")],
        "period": MINUTE,
        "yAxis": {"left": {"min": 0, "label": "ms", "showUnits": False}},
    }


def _handlers(plan: Plan) -> dict[str, Any]:
    return {
        "title": "Handlers in use, by RegionServer: when all are, requests queue",
        "metrics": [_expression(search(metric("numActiveHandler"), "Maximum", MINUTE), "", "handlers")],
        "period": MINUTE,
        "yAxis": {"left": {"min": 0, "label": "handlers", "showUnits": False}},
        "annotations": {"horizontal": [{"label": "all of them", "value": plan.handlers}]},
    }


def _standing_still() -> dict[str, Any]:
    return {
        "title": "JVM pauses of one to ten seconds, longer ones, and regions long in transition",
        "metrics": [
            _expression(_rate("pauseInfoThresholdExceeded"), "pauses/s, all RegionServers", "pauses"),
            _expression(_rate("pauseWarnThresholdExceeded"), "longer pauses/s", "long"),
            _expression(search(metric("ritCountOverThreshold"), "Maximum", MINUTE), "regions", "regions"),
        ],
        "period": MINUTE,
        "yAxis": {"left": {"min": 0, "label": "pauses/s, regions", "showUnits": False}},
    }


def _nodes() -> dict[str, Any]:
    worst = (
        ("waiting for disks, most", "cpu_usage_iowait", "MAX", "Average"),
        ("fullest disk (YARN calls 90 unhealthy)", "disk_used_percent", "MAX", "Maximum"),
        ("memory left, least", "mem_available_percent", "MIN", "Average"),
    )
    return {
        "title": "The worst node",
        "metrics": [
            _expression(f"{of_nodes}({search(metric(name), statistic, MINUTE)})", label, name)
            for label, name, of_nodes, statistic in worst
        ],
        "period": MINUTE,
        "yAxis": {"left": {"min": 0, "max": 100, "label": "percent", "showUnits": False}},
    }


def _rate(attribute: str) -> str:
    return f"SUM(RATE({search(metric(attribute), 'Maximum', MINUTE)}))"
