"""Plan to classifications: templates filled in, parsed back, and held against the catalogue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from configurations import layout, metrics
from configurations.classification import Classification, Classifications, flattened
from configurations.properties import CATALOGUE, Group
from facts.releases import releases
from sizing.mode import Mode
from sizing.plan import Plan
from sizing.problem import InvalidInput, Problem
from sizing.units import MIB

__all__ = ["classifications"]

COLLECTOR_FLAGS: Final = {
    "zgc": "-XX:+UseZGC -XX:+ZGenerational -XX:+AlwaysPreTouch",
    "g1": "-XX:+UseG1GC -XX:+AlwaysPreTouch",
}
"""By collector; EMR documents the first with Java 21 (emr-hbase-configure)."""
# judgement: a master holds regions and assignments, no blocks; half of the smallest node listed, 8 GiB.
PRIMARY_HEAP_MIB: Final = 4_096
# judgement: prefetch, flush and compaction wait a second for room in a writer's queue, at 5 ms for an fsync many
# batches, rather than leave their block out of the cache. Reads do not wait.
QUEUE_WAIT_MS: Final = 1_000


def classifications(plan: Plan) -> Classifications:
    """What the cluster is launched with: storage identity for all nodes, everything tunable by instance group.

    Raises InvalidInput for a mode that has no templates yet, RenderingError when a template makes something that the
    catalogue does not know.
    """
    if plan.mode is not Mode.S3_CACHED:
        raise InvalidInput([_no_templates(plan)])
    release = releases()[plan.release]
    values = {
        "plan": plan,
        "release": release,
        "layout": layout,
        "metrics": metrics,
        "collector_flags": COLLECTOR_FLAGS[plan.heap.collector],
        "primary_heap_mib": PRIMARY_HEAP_MIB,
        "queue_wait_ms": QUEUE_WAIT_MS,
    }
    return Classifications(*(_group(group, values) for group in Group))


def _no_templates(plan: Plan) -> Problem:
    return Problem(
        where=plan.environment,
        what="storage.mode",
        why=f"{plan.mode} can be planned and compared, and not rendered yet",
        fix=f"use {Mode.S3_CACHED} to render and deploy",
    )


class RenderingError(AssertionError):
    """A template and the catalogue disagree: a fault of ours, not of the input."""


def _mib(size_bytes: int) -> int:
    """A size in MiB, for a property that wants them. Raises RenderingError for a size that is not whole in it."""
    if size_bytes % MIB:
        raise RenderingError(f"{size_bytes} bytes are not whole MiB, and a property is never rounded")
    return size_bytes // MIB


def _templates() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    # Nothing here is HTML: these are JSON files for EMR, and parsing them back is their check.
    templates = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, autoescape=False)  # noqa: S701
    templates.filters["mib"] = _mib
    return templates


def _group(group: Group, values: Mapping[str, Any]) -> tuple[Classification, ...]:
    text = _templates().get_template(f"{group}.json.j2").render(values)
    parsed = json.loads(text, object_pairs_hook=_each_key_once)
    found = tuple(Classification.parse(value) for value in parsed)
    for path, key, _ in flattened(found):
        known = CATALOGUE.get((path, key))
        if known is None or group not in known.groups:
            raise RenderingError(f"{group}: {path} {key} is not in the catalogue for that group")
    return found


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise RenderingError(f"a key is rendered twice among {[key for key, _ in pairs]}")
    return dict(pairs)
