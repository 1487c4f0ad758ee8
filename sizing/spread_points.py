"""Points that fill a cube more evenly than random points do; each stands for one sample of several inputs."""

from __future__ import annotations

from typing import Final

import numpy as np

from sizing.popularity import Floats

HALVINGS: Final = 64
"""The iterations that find the ratio; each of them at least halves its error."""


def spread_points(count: int, dimensions: int, seed: int) -> Floats:
    """Return points in the unit cube, shape (count, dimensions); the seed shifts all of them by the same vector.

    They are an additive recurrence with the powers of the generalised golden ratio. Source: Roberts, "The unreasonable
    effectiveness of quasirandom sequences", 2018.
    """
    ratio = 2.0
    for _ in range(HALVINGS):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    shift = np.random.default_rng(seed).random(dimensions)
    return np.asarray((shift + np.arange(1, count + 1)[:, None] * steps) % 1.0)
