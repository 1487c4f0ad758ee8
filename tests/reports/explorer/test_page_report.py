"""The values at which the sliders of a report stop."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from warmbase.engines.trino.explorer import INPUTS as TRINO_INPUTS
from warmbase.reports.explorer.hbase import MODE, OPEN_LOAD, TARGETS
from warmbase.reports.explorer.hbase import WORKLOAD_INPUTS as WORKLOAD
from warmbase.reports.explorer.page_file import _stops

INPUTS = {entry.key: entry for entry in (*WORKLOAD, *OPEN_LOAD, *TARGETS)}


@pytest.mark.parametrize(
    ("key", "text", "stops"),
    [
        ("hit_ratio", "95 %", ["0.8", "0.9", "95 %", "0.99"]),
        ("per_second", "0x10", []),
        ("per_second", "100", ["50", "100", "150", "200", "300"]),
        ("popularity", "0.9", ["uniform", "0.7", "0.9", "0.99", "1.1"]),
        ("popularity", "", []),
        ("p99", "1 s", []),
    ],
)
def test_a_slider_stops_at_the_value_of_the_file_however_it_is_written(key: str, text: str, stops: list[str]) -> None:
    assert _stops(replace(INPUTS[key], text=text)) == stops


def test_the_list_of_storage_modes_offers_all_of_them() -> None:
    assert _stops(MODE) == ["s3-cached", "s3-plain", "hdfs"]


def test_times_stop_in_the_order_of_their_lengths() -> None:
    entry = next(entry for entry in TRINO_INPUTS if entry.key == "targets.query_time")
    assert _stops(replace(entry, text="60 s")) == ["15 s", "30 s", "60 s", "2 min", "5 min"]
