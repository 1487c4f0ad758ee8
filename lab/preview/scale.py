"""The lines of a plan at the scale of the recorded servers, and notes on what the lab records in another way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from configurations.metrics import metric
from dashboards.expected import warm_fill
from dashboards.graph import Graph, Mark
from lab.preview.replay import recorded_cluster, three_servers
from sizing.plan import Plan
from sizing.units import format_number

NOTES: Final[Mapping[str, str]] = {
    "GetP99": "Recorded with the latency that the lab gives to S3.",
    "GetRequests": "Recorded in front of the lab's S3 server.",
    "VolumeBytes": "Recorded from the volumes of the lab, which have no limit.",
    "VolumeOperations": "Recorded from the volumes of the lab, which have no limit.",
    "CoreNodesRunning": "The core nodes are the recorded servers.",
    "cpu_usage_iowait": "Recorded from the one machine on which all three servers ran.",
    "percentFilesLocal": "Not recorded. Drawn from the plan, in which each server reads from its own disks.",
    "HDFSUtilization": "Not recorded. Drawn from the plan: the most that it fills HDFS.",
}
"""The note of a graph that draws this metric."""
UNLIMITED: Final = ("VolumeBytes", "VolumeOperations")
"""The metrics whose recording has no counterpart to the plan's line."""


def note(graph: Graph) -> str:
    """Return how the figures of a graph were recorded, and the plan's lines that have no place in it; often empty."""
    words = [text for name, text in NOTES.items() if _draws(graph, name)]
    if _is_unlimited(graph):
        words += [f"In the plan, {format_number(mark.value)} {graph.unit} are {mark.label}." for mark in graph.marks]
    return " ".join(words)


def recorded_marks(graph: Graph, plan: Plan) -> list[Mark]:
    """Return the lines of the plan; a line of the plan's size becomes that of the recorded servers, and says so."""
    if _is_unlimited(graph):
        return []
    limits = recorded_cluster().limits
    if _draws(graph, "CoreNodesRunning"):
        label = f"recorded servers (the plan has {plan.core.count} core nodes)"
        return [replace(mark, value=float(len(three_servers())), label=label) for mark in graph.marks]
    if _draws(graph, "MemHeapUsedM"):
        label = f"maximum heap of the recorded servers (plan: {plan.heap.xmx_mib:,} MiB)"
        return [replace(mark, value=limits["heap_mib"], label=label) for mark in graph.marks]
    if plan.mode.has_bucket_cache and _draws(graph, "Fill"):
        planned = round(warm_fill(plan), 3)
        label = f"recorded servers when warm (plan: {planned:g})"
        scaled = Mark(value=limits["warm_fill"], label=label)
        return [scaled if mark.value == planned else mark for mark in graph.marks]
    return list(graph.marks)


def _is_unlimited(graph: Graph) -> bool:
    return any(_draws(graph, name) for name in UNLIMITED)


def _draws(graph: Graph, name: str) -> bool:
    """Return whether a line of the graph reads that metric."""
    return metric(name) in graph.metrics
