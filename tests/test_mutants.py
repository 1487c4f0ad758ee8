"""The lists of mutants follow the code: `make mutants` can apply every one of them."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest

from tests.mutants.__main__ import MARKERS
from tests.mutants.mutant import PROJECT, Mutant, read_mutants

MUTANTS = list(read_mutants())


def test_there_are_at_least_a_hundred_and_each_has_a_name_of_its_own() -> None:
    assert len(MUTANTS) >= 100
    assert [name for name, times in Counter(mutant.id for mutant in MUTANTS).items() if times > 1] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_a_mutant_changes_one_place_and_names_tests_that_exist(mutant: Mutant) -> None:
    assert mutant.apply(PROJECT) != (PROJECT / mutant.file).read_text(encoding="utf-8")
    assert mutant.tests
    assert [test for test in mutant.tests if not (PROJECT / test.partition("::")[0]).exists()] == []


def test_the_tests_of_a_mutant_are_chosen_by_markers_that_exist() -> None:
    """Pytest runs no test for a marker that it does not know, and no mutant would be tried."""
    lines = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    known = {line.partition(":")[0] for line in lines["markers"]}
    assert {*MARKERS.split()} - {"not", "and", "or"} <= known
