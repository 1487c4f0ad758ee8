"""How much more the busiest RegionServer of a cluster serves than the mean."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Imbalance(Struct, frozen=True, kw_only=True):
    """The busiest RegionServer's load over the mean: in requests, and in blocks that come from a disk or from S3.

    Memory answers the hottest rows, so blocks are never spread more unevenly than requests.
    """

    requests: float = 1.0
    blocks: float = 1.0


EVEN: Final = Imbalance()
