"""Patterns mean the same on every Python that the project runs on."""

from __future__ import annotations

import re

from tests.test_layers import PROJECT, sources

POSSESSIVE = re.compile(r"\)(\*|\+|\?)\+")


def test_no_group_is_possessive() -> None:
    """Python before 3.11.5 matches too much or too little with `(…)*+` (python/cpython 106052)."""
    possessive = [source for source in sources() if POSSESSIVE.search(source.read_text(encoding="utf-8"))]
    assert [str(source.relative_to(PROJECT)) for source in possessive] == []


def test_the_test_of_groups_can_fail() -> None:
    assert POSSESSIVE.search("(a|b)*+")
    assert not POSSESSIVE.search("(a|b)*")
