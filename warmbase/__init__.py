"""warmbase sizes, deploys and operates cache-tuned HBase on Amazon EMR.

Its names are those of `warmbase.library` (`docs/library.md`), which `__init__.pyi` declares for type checkers.
Importing `warmbase` alone loads nothing.
"""

from __future__ import annotations

from importlib import import_module


def __getattr__(name: str) -> object:
    """Import the library when one of its names is first used."""
    if not name.startswith("_") and name in (library := import_module("warmbase.library")).__all__:
        globals()[name] = found = getattr(library, name)
        return found
    raise AttributeError(f"module 'warmbase' has no attribute {name!r}")
