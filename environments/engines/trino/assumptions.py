"""The values that the plan of an analytics cluster assumes because nobody stated them."""

from __future__ import annotations

from collections.abc import Iterator

from environments.environment import Environment
from sizing.engines.trino.request import TrinoChoice
from sizing.popularity import UNIFORM
from sizing.units import exact_size, format_percent


def assumed(environment: Environment, cluster: TrinoChoice) -> Iterator[str]:
    """Yield each assumed value in words, those with the greatest effect on the plan first."""
    workload, targets = cluster.workload, cluster.targets
    values = {
        "workload.popularity": "all files equally popular" if workload.popularity == UNIFORM else "a skewed popularity",
        "workload.cpu_seconds_per_gib": f"{workload.cpu_seconds_per_gib:g} core-seconds per GiB",
        "workload.queries.peak_per_hour": "no hour busier than the mean",
        "workload.read": f"contiguous reads of {exact_size(workload.read_bytes)}",
        "workload.file": f"files of {exact_size(workload.file_bytes)}",
        "targets.hit_ratio": f"a hit ratio of {format_percent(targets.hit_ratio)}",
        "targets.lost_nodes": f"{targets.lost_nodes} lost worker{'s' * (targets.lost_nodes != 1)}",
        "preferred_hosts": f"{cluster.preferred_hosts} preferred host{'s' * (cluster.preferred_hosts != 1)} per file",
    }
    for key, value in values.items():
        if not environment.states(f"clusters.{cluster.name}.{key}"):
            yield value
