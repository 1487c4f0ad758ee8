"""The files of the package: in a checkout, links lead to those that stand at its top."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]
"""The directory `warmbase`, in a checkout or among the installed packages."""
EXAMPLES: Final = PACKAGE / "examples"
"""The environment files that ship."""


def is_checkout() -> bool:
    """Return whether this is a clone of the repository, which has the lab and the local AWS beside the package."""
    return (PACKAGE.parent / "Makefile").exists()
