"""The distinct values of an array.

`numpy.unique` loads the masked arrays of numpy, which takes longer than it takes to plan many a cluster.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct"]

Number = TypeVar("Number", np.float64, np.int64)


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """Return each value once, in ascending order; none may be NaN."""
    ascending = np.sort(values)
    first = np.ones(len(ascending), dtype=bool)
    first[1:] = ascending[1:] != ascending[:-1]
    return ascending[first]
