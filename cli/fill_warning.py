"""The warning before a command closes regions while caches fill, because blocks are then left out of the caches."""

from __future__ import annotations

from collections.abc import Iterator

from cli.page_entry import page_entry
from operations.warming import Servers


def fill_warning(servers: Servers, environment: str) -> Iterator[str]:
    """Yield an entry if a cache is filling: HBase treats a prefetch as complete when a closing region interrupts it."""
    filling = sum(server.verdict == "filling" for server in servers)
    if filling:
        yield from page_entry(
            "fill",
            f"{filling} of {len(servers)} caches are filling. If a region closes while its files are prefetched,"
            " HBase leaves the rest of their blocks out of the cache. To wait until the caches are warm:"
            f" warmbase warm wait {environment}",
        )
