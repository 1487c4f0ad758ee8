"""Paths on the nodes of an analytics cluster."""

from __future__ import annotations

from typing import Final

from configurations.layout import cache_mounts
from sizing.engines.trino.plan import TrinoPlan

PAGES: Final = "trino"
"""The directory on each cache volume; the bootstrap action gives it to the user trino."""
SPILL: Final = "/warmbase/system/trino-spill"
COORDINATOR_CACHE: Final = "/tmp/trino-cache"  # noqa: S108 - the coordinator's own directory, on its root disk
COORDINATOR_SPILL: Final = "/tmp/trino-spill"  # noqa: S108 - as above


def cache_directories(plan: TrinoPlan) -> tuple[str, ...]:
    """Return the directory of pages on each cache volume of a worker."""
    return tuple(f"{mount}/{PAGES}" for mount in cache_mounts(plan.workers))
