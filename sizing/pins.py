"""Figures of a RegionServer that a person states with an override, and that the calculator then uses as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["NO_PINS", "PINNED_BY", "Pins"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """The pinned figures, by their names in the plan; the calculator chooses each figure that is None."""

    handlers: int | None = None
    read_fraction: float | None = None
    """The figure `call_queues.read_fraction` of the plan."""
    prefetch_threads: int | None = None
    open_region_threads: int | None = None
    s3_connections: int | None = None
    retain_retries: int | None = None
    """The figure `restart.retain_retries` of the plan."""


NO_PINS: Final = Pins()

PINNED_BY: Final[Mapping[str, str]] = {
    "handlers": "hbase.regionserver.handler.count",
    "read_fraction": "hbase.ipc.server.callqueue.read.ratio",
    "prefetch_threads": "hbase.hfile.thread.prefetch",
    "open_region_threads": "hbase.regionserver.executor.openregion.threads",
    "s3_connections": "fs.s3a.connection.maximum",
    "retain_retries": "hbase.master.scp.retain.assignment.force.retries",
}
"""The property of hbase-site whose override pins the figure."""
