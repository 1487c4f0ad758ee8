"""Sizes, times and shares as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.ground.units import (
    GIB,
    KIB,
    MIB,
    TIB,
    AmbiguousUnit,
    exact_size,
    format_duration,
    format_percent,
    format_rate,
    format_size,
    format_usd,
    parse_duration,
    parse_fraction,
    parse_rate,
    parse_size,
)


@given(st.integers(min_value=0, max_value=2**60))
def test_parse_after_exact_format_is_the_identity(size_bytes: int) -> None:
    assert parse_size(exact_size(size_bytes)) == size_bytes


@given(st.integers(min_value=1, max_value=2**50))
def test_a_printed_size_is_within_half_a_percent(size_bytes: int) -> None:
    printed = parse_size(format_size(size_bytes).replace(",", ""))
    assert abs(printed - size_bytes) <= 0.005 * size_bytes + 0.5


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("64 KiB", 65536), ("0 B", 0), ("7.185 TiB", round(7.185 * TIB)), ("1_024MiB", GIB), (" 2 GiB ", 2 * GIB)],
)
def test_sizes(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("64", "no unit"),
        ("64GB", "64 GB is 59.6 GiB; did you mean that, or 64 GiB"),
        ("64G", "64 G is 59.6 GiB; did you mean that, or 64 GiB"),
        ("3 TB", "3 TB is 2.728 TiB; did you mean that, or 3 TiB"),
        ("2 KB", "2 KB is 1.953 KiB; did you mean that, or 2 KiB"),
        ("7_900.5 gb", "7_900.5 gb is 7358 GiB; did you mean that, or 7_900.5 GiB"),
        ("64 XB", "'XB' is not one of"),
        ("64 kib", "'kib' is not one of"),
        ("-1 KiB", "expected a number with a unit"),
        ("many", "expected a number with a unit"),
        ("", "expected a number with a unit"),
    ],
)
def test_a_size_without_a_binary_unit_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_size(text)


def test_rates_durations_and_shares() -> None:
    assert parse_rate("125 MiB/s") == 125 * MIB
    assert parse_duration("12 h") == 43200
    assert parse_duration("250 ms") == 0.25
    assert parse_fraction("95 %") == parse_fraction(0.95) == 0.95
    with pytest.raises(ValueError, match="per second"):
        parse_rate("125 MiB")
    with pytest.raises(AmbiguousUnit, match=r"125 MB/s is 119\.2 MiB/s; did you mean that, or 125 MiB/s"):
        parse_rate("125 MB/s")


@given(
    st.integers(min_value=1, max_value=10**6),
    st.sampled_from("kKmMgGtTpP"),
    st.sampled_from(("B", "b", "", "iB", "ib")),
)
def test_a_fix_names_sizes_that_can_be_parsed(number: int, prefix: str, rest: str) -> None:
    text = f"{number} {prefix}{rest}"
    try:
        assert parse_size(text) == number * 1024 ** ("KMGTP".index(prefix) + 1)
    except AmbiguousUnit as error:
        *decimal, binary = map(parse_size, error.fix.removeprefix("write ").split(", or "))
        power = "KMGTP".index(prefix.upper()) + 1
        assert binary == number * 1024**power
        assert [round(size / (number * 1000**power), 3) for size in decimal] == ([] if rest.lower() == "ib" else [1])

    with pytest.raises(ValueError, match="between 0 and 1"):
        parse_fraction(95)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.999, "999 ms"), (1, "1 s"), (59.9, "59.9 s"), (60, "1 min"), (3_540, "59 min"), (3_600, "1 h")],
)
def test_a_duration_has_the_largest_unit_that_it_fills(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(1_023, "1,023 B"), (KIB, "1 KiB"), (1_023 * KIB, "1,023 KiB"), (MIB, "1 MiB"), (-MIB, "-1 MiB")],
)
def test_a_size_has_the_largest_unit_that_it_fills(size_bytes: int, text: str) -> None:
    assert format_size(size_bytes) == text


def test_units_are_always_printed() -> None:
    assert format_size(92 * GIB) == "92 GiB"
    assert format_rate(125 * MIB) == "125 MiB/s"
    assert format_duration(0.0004) == "0.4 ms"
    assert format_duration(8280) == "2.3 h"
    assert format_percent(0.953) == "95.3 %"
    assert (format_usd(3412.4), format_usd(0.42)) == ("$3,412", "$0.42")
