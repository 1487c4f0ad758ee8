"""Points that fill a cube more evenly than random points do; each stands for one sample of several inputs."""

from __future__ import annotations

from typing import Final

import numpy as np

from sizing.popularity import Floats

HALVINGS: Final = 64
"""The iterations that find the ratio; each of them at least halves its error."""


def spread_points(count: int, dimensions: int, seed: int) -> Floats:
    """Return points in the unit cube, shape (count, dimensions); the seed shifts all of them by the same vector.

    The first coordinate takes equal steps, and the others are an additive recurrence with the powers of the generalised
    golden ratio. Then each coordinate is replaced by its rank, so that neighbours are equally far apart. Sources:
    Hammersley, "Monte Carlo methods for solving multivariable problems", 1960; Roberts, "The unreasonable effectiveness
    of quasirandom sequences", 2018; McKay, Beckman and Conover, "A comparison of three methods for selecting values of
    input variables", 1979.
    """
    ratio = 2.0
    for _ in range(HALVINGS):
        ratio = (1 + ratio) ** (1 / max(1, dimensions))
    steps = np.append(1 / count, ratio ** -np.arange(1.0, dimensions))[:dimensions]
    shift, offset = np.random.default_rng(seed).random((2, dimensions))
    points = (shift + np.arange(count)[:, None] * steps) % 1.0
    order = np.argsort(np.argsort(points, axis=0), axis=0)
    return np.asarray((order + offset) / count)
