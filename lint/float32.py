"""Shares as HBase adds them: in 32 bits, from left to right, where decimals that add up to 1 often do not."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["float32_sum"]


def float32_sum(shares: Iterable[float]) -> float:
    """Their sum in that order, each rounded to float32 first; 1.0 exactly is what HBase asks of cache factors."""
    total = np.float32(0)
    for share in shares:
        total += np.float32(share)
    return float(total)
