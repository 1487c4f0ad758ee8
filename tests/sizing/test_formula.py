"""The evaluator of formulas: arithmetic over named inputs, and nothing else."""

from __future__ import annotations

import pytest

from warmbase.sizing.explanation import Value, evaluate, names

INPUTS: dict[str, Value] = {"a": 7, "b": 2, "step": 4, "zero": 0, "name": "r8g.xlarge", "other": "m8g.xlarge"}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("a + b * step", 15),
        ("(a - b) / step", 1.25),
        ("max(a, b, step)", 7),
        ("min(a, b)", 2),
        ("ceil(a / b)", 4),
        ("floor(a / b)", 3),
        ("round(a / step)", 2),
        ("up_to(a, step)", 8),
        ("up_to(step, step)", 4),
        ("down_to(a, step)", 4),
        ("a if b < a else step", 7),
        ("a if b > a else step", 4),
        ("name if zero > b else other", "m8g.xlarge"),
        ("b < step <= a", True),
        ("b < step and a < step", False),
        ("double(a) + b", 16),
    ],
)
def test_a_formula_has_the_value_of_its_arithmetic(formula: str, value: Value) -> None:
    assert evaluate(formula, INPUTS, {"double": lambda number: 2 * number}) == value


@pytest.mark.parametrize("formula", ["low <= high", "high <= low", "low >= high", "far < low"])
def test_a_comparison_forgives_rounding(formula: str) -> None:
    assert evaluate(formula, {"low": 0.1 + 0.2, "high": 0.3, "far": 0.2999}, {}) is True


@pytest.mark.parametrize("formula", ["low < high", "low > high", "low <= far", "far >= low"])
def test_a_comparison_forgives_no_more_than_rounding(formula: str) -> None:
    assert evaluate(formula, {"low": 0.1 + 0.2, "high": 0.3, "far": 0.2999}, {}) is False


@pytest.mark.parametrize(
    "formula",
    [
        "a + 1",
        "a ** b",
        "a.real",
        "a[b]",
        "a == b",
        "not a",
        "[a]",
        "lambda: a",
        "max(*a)",
        "max(a, key=b)",
        "-a",
        "'a'",
    ],
)
def test_nothing_but_arithmetic_over_names_is_evaluated(formula: str) -> None:
    with pytest.raises(ValueError, match="a formula"):
        evaluate(formula, {"a": 1, "b": 2}, {})


@pytest.mark.parametrize("formula", ["a + nobody", "nobody(a)", "__import__(a)"])
def test_an_unknown_name_is_refused(formula: str) -> None:
    with pytest.raises(KeyError):
        evaluate(formula, INPUTS, {})


def test_arithmetic_with_a_name_is_refused() -> None:
    with pytest.raises(TypeError, match=r"name is the name 'r8g\.xlarge'"):
        evaluate("a + name", INPUTS, {})


def test_a_formula_names_its_inputs_and_functions() -> None:
    assert names("max(a, b) if step > zero else a") == {"max", "a", "b", "step", "zero"}
