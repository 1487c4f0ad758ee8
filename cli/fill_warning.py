"""The warning of commands that close regions: while a cache fills, that leaves blocks out of it."""

from __future__ import annotations

from collections.abc import Iterator

from cli.page_entry import page_entry
from operations.warming import Servers


def fill_warning(servers: Servers, environment: str) -> Iterator[str]:
    """Yield an entry where a cache fills: HBase takes a prefetch that a closing region interrupts for a whole one."""
    filling = sum(server.verdict == "filling" for server in servers)
    if filling:
        yield from page_entry(
            "fill",
            f"{filling} of {len(servers)} caches are filling. Where a region closes while its files are prefetched,"
            f" HBase leaves the rest of their blocks out of the cache; to wait: warmbase warm wait {environment}",
        )
