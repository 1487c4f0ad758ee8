"""How much more the busiest RegionServer of a cluster serves than the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Imbalance:
    """The busiest RegionServer's load over the mean: in requests, and in blocks that come from a disk or from S3.

    Memory answers the hottest rows, so blocks are never spread more unevenly than requests.
    """

    requests: float = 1.0
    blocks: float = 1.0


EVEN: Final = Imbalance()
