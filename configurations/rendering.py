"""Plan to classifications: templates filled in, parsed back, and held against the catalogue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2

from configurations import layout
from configurations.compaction_window import compaction_window
from configurations.jvm import jvm
from configurations.metrics import EXPORT_INTERVAL_MS, METRICS, OF_AGENT, MetricSource, metrics_of
from configurations.overrides import overridden
from configurations.properties import CATALOGUE, PropertyScope
from emr.classification import Classification, Classifications, flattened
from emr.codecs.api import read_classifications
from environments.environment import Environment, Wal
from facts.releases import releases
from sizing.plan import Plan

__all__ = ["RenderingError", "classifications", "is_rendered", "templates"]

# judgement: a master holds regions and assignments, no blocks; half of the smallest node listed, 8 GiB.
PRIMARY_HEAP_MIB: Final = 4_096
# judgement: prefetch, flush and compaction wait a second for room in a writer's queue, at 5 ms for an fsync many
# batches, rather than leave their block out of the cache. Reads do not wait.
QUEUE_WAIT_MS: Final = 1_000
BLOCK_LOCATION_REFRESH_MS: Final = 30_000  # HubSpot's interval (HDFS-16262)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """How a request that S3 told to slow down is tried again: waits that double from the first.

    judgement: 500 ms doubled nine times are four minutes, in which S3 splits a prefix. Hadoop's 20 doublings of 100 ms
    are 29 hours for which a handler would be gone.
    """

    interval_ms: int = 500
    tries: int = 9


def classifications(environment: Environment, plan: Plan) -> Classifications:
    """Return what a cluster is launched with: storage identity for all nodes, everything tunable by instance group.

    The environment's overrides are laid over what the plan gives. Raises InvalidInput for an override of what is no
    tuning, RenderingError when a template makes something that the catalogue does not know.
    """
    release = releases()[plan.release]
    emr_wal = environment.wal is Wal.EMR_WAL and _role(environment, plan) == "active"
    values = {
        "plan": plan,
        "mode": plan.mode,
        "role": _role(environment, plan),
        "wal_workspace": environment.wal_workspace if emr_wal else None,
        "release": release,
        "layout": layout,
        "jvm": jvm(plan, release),
        "compactions": compaction_window(environment.region),
        "throttle": Throttle(),
        "daemons": (MetricSource.REGION_SERVER, MetricSource.MASTER),
        "system": MetricSource.SYSTEM,
        "metrics_of": metrics_of,
        "export_interval_ms": EXPORT_INTERVAL_MS,
        "primary_heap_mib": PRIMARY_HEAP_MIB,
        "queue_wait_ms": QUEUE_WAIT_MS,
        "block_location_refresh_ms": BLOCK_LOCATION_REFRESH_MS,
    }
    planned = Classifications(*(_group(group, values) for group in PropertyScope))
    return overridden(planned, environment.overrides)


def _role(environment: Environment, plan: Plan) -> str:
    return environment.clusters[plan.cluster].role


class RenderingError(AssertionError):
    """A template and the catalogue disagree: a fault of ours, not of the input."""


@cache
def templates() -> jinja2.Environment:
    """The templates of this room, each compiled once; an undefined name is an error."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    # Nothing here is HTML: these are JSON files for EMR, and parsing them back is their check.
    return jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True, autoescape=False)  # noqa: S701


def _group(group: PropertyScope, values: Mapping[str, Any]) -> tuple[Classification, ...]:
    text = templates().get_template(f"{group}.json.j2").render(values)
    parsed = json.loads(text, object_pairs_hook=_check_duplicates)
    found = read_classifications(parsed)
    for path, key, value in flattened(found):
        _checked(group, path, key, value, values["release"])
    return found


def _checked(group: PropertyScope, path: str, key: str, value: str, release: Any) -> None:  # noqa: ANN401
    known = CATALOGUE.get((path, key))
    if known is None or group not in known.groups:
        raise RenderingError(f"{group}: {path} {key} is not in the catalogue for that group")
    if not known.exists_in(release):
        raise RenderingError(f"{group}: {release.label} does not know {path} {key}")
    if (why := known.values.refusal(value)) is not None:
        raise RenderingError(f"{group}: {path} {key}: {why}")


def _check_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise RenderingError(f"a key is rendered twice among {[key for key, _ in pairs]}")
    return dict(pairs)


def is_rendered(path: str, key: str) -> bool:
    """Return whether some cluster is rendered with it; what is known besides is left to the software's own default."""
    beans = {(f"emr-metrics/{metric.source}", metric.bean) for metric in METRICS if metric.source in OF_AGENT}
    return (path, key) in beans or any(f'"{key}"' in text for text in _template_texts())


@cache
def _template_texts() -> tuple[str, ...]:
    files = sorted(Path(__file__).parent.glob("templates/**/*.json.j2"))
    return tuple(file.read_text(encoding="utf-8") for file in files)
