"""The proposal of a pluggable block cache, which states how much heap the index of the BucketCache takes."""

from __future__ import annotations

from typing import Final

from published.figure import FigureOrigin, PublishedFigure, PublishedSource, SourceFigures
from sizing.heap import RESTORED_ENTRY_BYTES, live_index_bytes
from sizing.units import KIB

SOURCE: Final = PublishedSource(title="HBASE-30018: pluggable block cache", publisher="Apache HBase developers")
CACHE_BYTES: Final = 1.6e12
INDEX_BYTES: Final = 9e9
BLOCK_BYTES: Final = 64 * KIB  # HBase's default; the source names none


def results() -> SourceFigures:
    """All of this source's figures that can be computed."""
    blocks = CACHE_BYTES / BLOCK_BYTES
    live = live_index_bytes(round(blocks), round(CACHE_BYTES), BLOCK_BYTES) / blocks
    planned = RESTORED_ENTRY_BYTES["zgc"]
    return SourceFigures(
        source=SOURCE,
        figures=(
            PublishedFigure(
                what="heap for the index of 1.6 TB of cache",
                place="metadata overhead",
                published=f"~{INDEX_BYTES / 1e9:.0f}",
                ours=blocks * planned / 1e9,
                unit="GB",
                kind=FigureOrigin.MODEL,
                how=f"1.6 TB / 64 KiB x {planned} B, with ZGC after a restart",
                remark=f"The source's figure is {INDEX_BYTES / blocks:.0f} B per block, if blocks have HBase's 64 KiB. "
                f"In a running cache, it is {live:.0f} B with ZGC, whose pointers have 8 bytes, and less with "
                f"compressed pointers. The calculator plans for the {planned} B that the heap holds just after a "
                "restart, because a server without room for them does not come back. With blocks of 16 KiB, the "
                "index takes four times as much.",
            ),
        ),
    )
