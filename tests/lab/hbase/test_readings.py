"""The lab reads counters, logs and histograms of HBase's processes correctly."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.hbase.cluster import Restored, decisive_line, restored
from lab.hbase.jmx import CacheCounters, hit_ratio
from lab.hbase.scenarios.index import LINE, Histogram
from warmbase.ground.errors import OperationFailed

STARTED = "2026-11-22T01:58:{:02},{:03} INFO  [main] bucket.{}\n"


def test_a_miss_that_is_counted_twice_is_one_miss() -> None:
    assert hit_ratio(950, 100) == 0.95
    assert hit_ratio(0, 2) == 0
    assert hit_ratio(0, 0) == 0


def test_counters_of_two_servers_add_up() -> None:
    fields = CacheCounters.__struct_fields__
    one = CacheCounters(**{name: number for number, name in enumerate(fields)})
    assert one + one == CacheCounters(**{name: 2 * number for number, name in enumerate(fields)})


def test_the_restore_of_the_last_start_is_read_from_its_log(tmp_path: Path) -> None:
    allocated, read = (
        "FileIOEngine: Allocating cache 1 GB, on the path: x",
        "BucketCache: Bucket cache retrieved from file successfully with size: 4108",
    )
    log = tmp_path / "server.log"
    log.write_text(
        STARTED.format(1, 0, allocated)
        + STARTED.format(9, 0, read)
        + STARTED.format(20, 100, allocated)
        + STARTED.format(20, 350, read)
    )
    assert restored(log) == Restored(blocks=4108, seconds=0.25)


def test_a_log_without_a_restore_is_no_figure(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(STARTED.format(1, 0, "FileIOEngine: Allocating cache 1 GB"))
    with pytest.raises(OperationFailed, match="how long the index took"):
        restored(log)


def test_what_grew_with_the_blocks_is_theirs() -> None:
    empty = Histogram(classes={"Key": (10, 480), "String": (5_000, 120_000)})
    full = Histogram(classes={"Key": (1_010, 48_480), "Node": (340, 8_160), "String": (5_100, 122_400)})
    assert full.growth_bytes(empty, 1_000) == 48_000 + 8_160


def test_a_histogram_as_jcmd_prints_it() -> None:
    text = "   1:        419936       20156928  java.util.concurrent.ConcurrentHashMap$Node (java.base@21.0.8)\n"
    assert LINE.findall(text) == [("419936", "20156928", "java.util.concurrent.ConcurrentHashMap$Node")]


def test_the_line_that_says_why_is_quoted(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    assert decisive_line(log) == ""
    log.write_text("INFO starting\n")
    assert decisive_line(log) == "INFO starting"
    log.write_text("INFO starting\nERROR Failed construct of HRegionServer\nINFO hook finished\n")
    assert decisive_line(log) == "ERROR Failed construct of HRegionServer"
    log.write_text("ERROR Failed construct\njava.lang.NullPointerException: it is null\n\tat a.B.c(B.java:1)\n")
    assert decisive_line(log) == "ERROR Failed construct: java.lang.NullPointerException: it is null"
