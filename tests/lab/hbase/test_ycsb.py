"""YCSB gets the load's properties, and its report is read correctly."""

from __future__ import annotations

import pytest

from lab.hbase.ycsb import YcsbLoad, YcsbTable, measured, operations, pace, rows_of, steady_counts

REPORT = """\
[OVERALL], RunTime(ms), 15011
[OVERALL], Throughput(ops/sec), 2564.1
[TOTAL_GC_TIME_%_Copy], Time(%), 7.1
[READ], Operations, 38490
[READ], AverageLatency(us), 1458.0
[READ], 50thPercentileLatency(us), 1201
[READ], 99thPercentileLatency(us), 3939
[READ], 99.9PercentileLatency(us), 8011
[READ], Return=OK, 38480
[READ], Return=ERROR, 10
"""


def test_a_report_is_read() -> None:
    result = measured(REPORT)
    assert (result.operations_per_second, result.reads, result.failed) == (2564.1, 38_480, 10)
    assert result.mean_ms == 1.458
    assert result.percentiles_ms == {"50": 1.201, "99": 3.939, "99.9": 8.011}


def test_a_cell_is_as_long_as_the_calculators() -> None:
    properties = rows_of(YcsbTable(name="usertable", rows=10, value_bytes=425))
    qualifier = f"{properties['fieldnameprefix']}0"
    assert len(qualifier) == 8
    assert (
        int(properties["fieldlength"]) + 22.9 + len(qualifier) + len(properties["columnfamily"])
        == 425 + 24 + 8 + 2 - 0.1
    )


def test_a_hot_set_and_its_seed_are_reported() -> None:
    properties = operations(YcsbLoad(seconds=15, threads=4, distribution="hotspot", hot=(0.1, 0.9), seed=2))
    assert (properties["hotspotdatafraction"], properties["hotspotopnfraction"], properties["seed"]) == (
        "0.1",
        "0.9",
        "2",
    )
    assert "hotspotdatafraction" not in operations(YcsbLoad(seconds=15, threads=4))


def test_popular_regions_are_drawn_instead_of_rows() -> None:
    properties = operations(YcsbLoad(seconds=15, threads=4, by_region=(24, 0.5)))
    drawn = {key: properties[key] for key in ("regions", "regionskew")}
    assert drawn == {"regions": "24", "regionskew": "0.5"}
    assert "regions" not in operations(YcsbLoad(seconds=15, threads=4))


@pytest.mark.parametrize(
    ("threads", "per_second", "options"),
    [
        (16, None, ("-threads", "16")),
        (16, 400.0, ("-threads", "16", "-target", "400")),
        (16, 1.5, ("-threads", "2", "-target", "2")),
        (16, 0.2, ("-threads", "1", "-target", "1")),
    ],
)
def test_no_thread_of_a_slow_load_waits_so_long_that_ycsb_ends_it(
    threads: int, per_second: float | None, options: tuple[str, ...]
) -> None:
    assert pace(YcsbLoad(seconds=10, threads=threads, target_per_second=per_second)) == options


def test_a_load_that_is_ended_has_counted_its_reads_and_the_failed_ones_by_the_second() -> None:
    status = """\
2026-11-24 05:00:01:004 1 sec: 60 operations; 60 current ops/sec; [READ: Count=60, Max=9, Min=1, Avg=2, 99.9=9]
2026-11-24 05:00:02:004 2 sec: 98 operations; 38 current ops/sec; [READ: Count=36, Max=9, Min=1, Avg=2, 99.9=9] \
[READ-FAILED: Count=2, Max=9, Min=1, Avg=2, 99.9=9]
2026-11-24 05:00:03:004 3 sec: 99 operations; 1 current ops/sec; [READ-FAILED: Count=1, Max=9, Min=1, Avg=2, 99.9=9]
"""
    assert steady_counts(status) == (99, 3)
    with pytest.raises(ValueError, match="no line of status"):
        steady_counts("java.net.ConnectException")
