"""The values at which the sliders of a report stop."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from warmbase.reports.explorer.page_file import _stops
from warmbase.reports.explorer.page_input import PageInput


@pytest.mark.parametrize(
    ("key", "text", "stops"),
    [
        ("targets.hit_ratio", "95 %", ["0.8", "0.9", "95 %", "0.99"]),
        ("workload.reads.per_second", "0x10", []),
        ("workload.reads.per_second", "100", ["50", "100", "150", "200", "300"]),
        ("workload.popularity", "0.9", ["uniform", "0.7", "0.9", "0.99", "1.1"]),
        ("workload.popularity", "", []),
        ("targets.p99", "1 s", []),
    ],
)
def test_a_slider_stops_at_the_value_of_the_file_however_it_is_written(key: str, text: str, stops: list[str]) -> None:
    assert _stops(replace(PageInput.of(key, key), text=text)) == stops


def test_the_list_of_storage_modes_offers_all_of_them() -> None:
    assert _stops(PageInput.of("storage.mode", "storage.mode")) == ["s3-cached", "s3-plain", "hdfs"]


def test_times_stop_in_the_order_of_their_lengths() -> None:
    entry = PageInput.of("clusters.TRINO.targets.query_time", "clusters.lake.targets.query_time")
    assert _stops(replace(entry, text="60 s")) == ["15 s", "30 s", "60 s", "2 min", "5 min"]
