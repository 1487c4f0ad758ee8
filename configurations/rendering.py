"""Render a plan as classifications: fill in the templates, parse the result, and check it against the catalogue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2

import sizing
from configurations import layout
from configurations.jvm import jvm
from configurations.metrics import EXPORT_INTERVAL_MS, METRICS, OF_AGENT, MetricSource, metrics_of
from configurations.overrides import overridden
from configurations.properties import CATALOGUE, PropertyScope
from configurations.properties.assignment import MOVING_FRACTION
from configurations.properties.bucket_cache import QUEUE_WAIT_MS
from configurations.properties.caching import PREFETCH_DELAY_MS
from configurations.properties.compaction import compaction_window
from configurations.properties.hadoop import THROTTLE_INTERVAL_MS, THROTTLE_TRIES, UNHEALTHY_DISK_PERCENT
from configurations.properties.java import PRIMARY_HEAP_MIB
from configurations.properties.security import ACCESS_CONTROLLER, TOKENS
from emr.classification import Classification, Classifications, flattened
from emr.codecs.api import read_classifications
from environments.environment import Environment, Wal
from environments.kerberos import HBaseSecurity
from facts.releases import releases
from sizing.clients import SESSION_TIMEOUT_MS
from sizing.compacted_blocks import largest_cached_compaction_bytes
from sizing.hdfs_load import LOCATION_REFRESH_MS
from sizing.plan import Plan
from sizing.release import Release
from sizing.reopening import BACKOFF_MS
from sizing.units import MIB

NEW_CLUSTER: Final = HBaseSecurity()


def classifications(environment: Environment, plan: Plan, security: HBaseSecurity = NEW_CLUSTER) -> Classifications:
    """Return the classifications of a launch: storage identity for all nodes, all other settings by instance group.

    The environment's overrides replace planned values. Raises InvalidInput for an override of a property that is not
    tuning, and RenderingError when a template renders a property that the catalogue does not know.
    """
    release = releases()[plan.release]
    emr_wal = environment.wal is Wal.EMR_WAL and _role(environment, plan) == "active"
    values = {
        "plan": plan,
        "mode": plan.mode,
        "security": security,
        "access_controller": ACCESS_CONTROLLER,
        "token_provider": TOKENS,
        "role": _role(environment, plan),
        "wal_workspace": environment.wal_workspace if emr_wal else None,
        "release": release,
        "region": environment.region,
        "sizing": sizing,  # templates render what its constants assume of HBase
        "layout": layout,
        "jvm": jvm(plan, release),
        "compactions": compaction_window(environment.region),
        "throttle_interval_ms": THROTTLE_INTERVAL_MS,
        "throttle_tries": THROTTLE_TRIES,
        "unhealthy_disk_percent": UNHEALTHY_DISK_PERCENT,
        "daemons": (MetricSource.REGION_SERVER, MetricSource.MASTER),
        "system": MetricSource.SYSTEM,
        "metrics_of": metrics_of,
        "export_interval_ms": EXPORT_INTERVAL_MS,
        "primary_heap_mib": PRIMARY_HEAP_MIB,
        "queue_wait_ms": QUEUE_WAIT_MS,
        "prefetch_delay_ms": PREFETCH_DELAY_MS,
        "reopen_backoff_ms": BACKOFF_MS,
        "largest_cached_compaction_bytes": _largest_cached_compaction_bytes(plan),
        "moving_fraction": MOVING_FRACTION,
        "session_timeout_ms": SESSION_TIMEOUT_MS,
        "block_location_refresh_ms": LOCATION_REFRESH_MS,
    }
    planned = Classifications(*(_group(group, release, values) for group in PropertyScope))
    return overridden(planned, environment.overrides)


def _role(environment: Environment, plan: Plan) -> str:
    return environment.clusters[plan.cluster].role


def _largest_cached_compaction_bytes(plan: Plan) -> int | None:
    """Return the largest compaction whose output enters the cache; None where the caches hold all the data."""
    if plan.bucket_cache is None:
        return None
    data_bytes, _ = plan.hit_ratio.curve[-1]
    return largest_cached_compaction_bytes(plan.bucket_cache.size_mib * MIB, plan.core.count, data_bytes)


class RenderingError(AssertionError):
    """A template and the catalogue disagree, which is a fault of warmbase and not of the input."""


@cache
def templates() -> jinja2.Environment:
    """Return the templates of this room, each compiled once; an undefined name in one is an error."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    # Nothing here is HTML: these are JSON files for EMR, and parsing them back is their check.
    return jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True, autoescape=False)  # noqa: S701


def _group(group: PropertyScope, release: Release, values: Mapping[str, object]) -> tuple[Classification, ...]:
    text = templates().get_template(f"{group}.json.j2").render(values)
    parsed = json.loads(text, object_pairs_hook=_check_duplicates)
    rendered = read_classifications(parsed)
    for path, key, value in flattened(rendered):
        if (fault := _fault(group, release, (path, key), value)) is not None:
            raise RenderingError(f"{group}: {fault}")
    return rendered


def _fault(group: PropertyScope, release: Release, entry: tuple[str, str], value: str) -> str | None:
    """Return why the catalogue does not allow the value, None where it does."""
    name, catalogued = " ".join(entry), CATALOGUE.get(entry)
    if catalogued is None or group not in catalogued.groups:
        return f"{name} is not in the catalogue for that group"
    if not catalogued.exists_in(release):
        return f"{release.label} does not know {name}"
    refusal = catalogued.values.refusal(value)
    return f"{name}: {refusal}" if refusal is not None else None


def _check_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise RenderingError(f"a key is rendered twice among {[key for key, _ in pairs]}")
    return dict(pairs)


def is_rendered(path: str, key: str) -> bool:
    """Return whether a template renders the property; the others of the catalogue keep the software's default."""
    beans = {(f"emr-metrics/{metric.source}", metric.bean) for metric in METRICS if metric.source in OF_AGENT}
    return (path, key) in beans or any(f'"{key}"' in text for text in _template_texts())


@cache
def _template_texts() -> tuple[str, ...]:
    files = sorted(Path(__file__).parent.glob("templates/**/*.json.j2"))
    return tuple(file.read_text(encoding="utf-8") for file in files)
