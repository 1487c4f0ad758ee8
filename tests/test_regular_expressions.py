"""Patterns mean the same on every Python that the project runs on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_layers import PROJECT, sources


@pytest.mark.parametrize("source", sources(), ids=lambda source: str(source.relative_to(PROJECT)))
def test_no_group_is_possessive(source: Path) -> None:
    """Python before 3.11.5 matches too much or too little with `(…)*+` (python/cpython 106052)."""
    assert not re.search(r"\)(\*|\+|\?)\+", source.read_text(encoding="utf-8"))
