"""The values at which the sliders of a report stop."""

from __future__ import annotations

import pytest

from reports.explorer.page_input import MODE, Kind, PageInput
from reports.explorer.report import _stops


@pytest.mark.parametrize(
    ("key", "kind", "text", "stops"),
    [
        ("targets.hit_ratio", "share", "95 %", ["0.8", "0.9", "95 %", "0.99"]),
        ("workload.reads.per_second", "count", "0x10", []),
        ("workload.reads.per_second", "count", "100", ["50", "100", "150", "200", "300"]),
        ("workload.popularity", "skew", "0.9", ["uniform", "0.7", "0.9", "0.99", "1.1"]),
        ("workload.popularity", "skew", "", []),
        ("targets.p99", "time", "1 s", []),
    ],
)
def test_a_slider_stops_at_the_value_of_the_file_however_it_is_written(
    key: str, kind: Kind, text: str, stops: list[str]
) -> None:
    assert _stops(PageInput(key=key, section="", title="", kind=kind, text=text)) == stops


def test_the_list_of_storage_modes_offers_all_of_them() -> None:
    assert _stops(MODE) == ["s3-cached", "s3-plain", "hdfs"]
