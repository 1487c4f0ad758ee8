"""A figure of a plan by its path."""

from __future__ import annotations

from collections.abc import Mapping


def figure_at(plan: object, path: str) -> object:
    """Return the figure at a path such as `heap.xmx_mib`, or `core.volumes.cache.size_gib` for one purpose.

    Raises LookupError where the plan has none.
    """
    value: object = plan
    for key in path.split("."):
        if isinstance(value, tuple):
            value = next((volume for volume in value if volume.purpose == key), None)
        else:
            value = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
        if value is None:
            raise LookupError(f"the plan has no figure {path}")
    return value
