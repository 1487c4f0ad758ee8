"""A window of writes is the difference of all counters, and each cell is one edit of the log."""

from __future__ import annotations

import pytest

from lab.hbase.scenarios.writes import WriteCounters, WriteWindow

LOG = {"appendCount": 1_000, "writtenBytes": 2_055_000, "slowAppendCount": 0}
SERVER = {
    "FlushTime_num_ops": 3,
    "flushedMemstoreBytes": 6_000,
    "flushedOutputBytes": 5_900,
    "compactedInputBytes": 400,
    "compactedOutputBytes": 300,
    "updatesBlockedTime": 0,
    "blockedRequestCount": 0,
}


def test_a_window_counts_what_happened_in_it() -> None:
    before = WriteCounters.of(LOG, SERVER, 100)
    later = WriteCounters.of(
        {**LOG, "appendCount": 1_600, "writtenBytes": 3_288_000},
        {**SERVER, "FlushTime_num_ops": 5, "compactedOutputBytes": 900, "blockedRequestCount": 2},
        1_300_100,
    )
    window = WriteWindow(seconds=3.0, counts=later - before)
    assert window.per_second == pytest.approx(200)
    assert window.counts.log_bytes / window.counts.log_edits == pytest.approx(2_055)
    assert (window.counts.flushes, window.counts.compacted_bytes, window.counts.blocked_requests) == (2, 600, 2)
    assert (window.counts.flushed_bytes, window.counts.device_bytes) == (0, 1_300_000)
