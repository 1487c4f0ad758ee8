"""Clusters of both engines whose pages are tested in a browser."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Final

from msgspec import Struct

from tests.browser import Observed
from tests.command import PROJECT
from warmbase.ground.units import SECONDS_PER_HOUR, format_duration, format_percent, format_usd
from warmbase.reports.explorer.server import ExplorerServer
from warmbase.reports.explorer.subject import Subject

SEED: Final = 1


class PageCase(Struct, frozen=True, kw_only=True):
    """One cluster, and values of its inputs; `printed` formats a plan in JSON as the headline of the page.

    `key` is the input whose slider is moved: it has a value that an address links to, one that is refused with its
    message, a range with its middle, the place of the slider there, and a last stop in a report. The `option` of a
    report is an input with a choice of a list, or with none for the last stop of its slider. The codec and the ratio of
    a `compression` have keys that begin with it.
    """

    environment: str
    cluster: str
    choices: Mapping[str, Sequence[str]]
    printed: Callable[[Observed], dict[str, str]]
    key: str
    file: str
    linked: str
    refused: tuple[str, str]
    range: tuple[str, str, str]
    stop: str
    wide: str
    option: tuple[str, str]
    left_out: tuple[str, ...]
    columns: str
    compression: str = ""

    def states(self, count: int) -> list[dict[str, str]]:
        """Return this many random states of the page, each with other values of some inputs."""
        draw, choices = random.Random(SEED), self.choices
        return [
            {key: draw.choice(choices[key]) for key in draw.sample(sorted(choices), draw.randint(1, 5))}
            for _ in range(count)
        ]

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve the page, and yield its address."""
        with ExplorerServer(Subject.read(self.environment, self.cluster), 0) as server:
            thread = Thread(target=server.serve_forever, daemon=True)
            thread.start()
            yield server.url
            server.shutdown()
            thread.join()


def printed_hbase(document: Observed) -> dict[str, str]:
    """Return the figures of a plan of HBase as the page shows them."""
    cold, lost = document["bad_hours"]["cold"], document["bad_hours"]["lost_node"]
    return {
        "price": format_usd(document["cost"]["usd_per_month"]),
        "nodes": f"{document['core']['count']} x {document['core']['instance_type']}",
        "hit_ratio": format_percent(document["hit_ratio"]["predicted"]),
        "p99": f"{document['throughput']['p99_latency_ms']:,.0f} ms",
        "cold": f"{cold['reads_per_second']:,.0f} reads/s" if cold and document["bucket_cache"] else "none",
        "lost_node": format_duration(lost["offline_seconds"]) if lost else "outage",
        "restart": format_duration(document["restart"]["seconds"]),
    }


def printed_trino(document: Observed) -> dict[str, str]:
    """Return the figures of a plan of Trino as the page shows them."""
    times = ("mean_seconds", "peak_mean_seconds", "cold_seconds", "after_loss_seconds")
    seconds = [document["queries"][name] for name in times]
    mean, peak, cold, lost = (
        "more than the cluster can serve" if time is None else format_duration(time) for time in seconds
    )
    return {
        "price": format_usd(document["cost"]["usd_per_month"]),
        "nodes": f"{document['workers']['count']} x {document['workers']['instance_type']}",
        "hit_ratio": format_percent(document["hit_ratio"]["predicted"]),
        "query_time": mean,
        "peak": peak,
        "cold": cold,
        "lost_node": lost,
        "export": format_duration(document["export"]["hours"] * SECONDS_PER_HOUR),
    }


HBASE: Final = PageCase(
    environment="dev",
    cluster="blue",
    choices={
        "workload.stored": ("30 GiB", "150 GiB", "700 GiB", "1.4 TiB", "9 TiB", "40 TiB"),
        "workload.row": ("4 KiB", "10 KiB", "64 KiB", "500 KiB"),
        "workload.cell": ("100 B", "1 KiB", "3 KiB"),
        "workload.block_size": ("16 KiB", "32 KiB", "64 KiB", "128 KiB"),
        "workload.popularity": ("uniform", "0.6", "0.85", "0.99", "1.2"),
        "workload.writes.bytes_per_second": ("0 B", "200 KiB", "5 MiB"),
        "workload.reads.per_second": ("20", "200", "1500", "12000"),
        "targets.hit_ratio": ("0.6", "0.9", "0.95", "0.99"),
        "targets.p99": ("", "5 ms", "80 ms", "1 s"),
        "targets.lost_nodes": ("0", "1", "2"),
        "targets.budget_usd_per_month": ("", "900", "20000"),
        "storage.mode": ("s3-cached", "s3-plain", "hdfs"),
    },
    printed=printed_hbase,
    key="workload.stored",
    file="200 GiB",
    linked="1 TiB",
    refused=(
        "3 TB",
        "workload.stored: 3 TB is 2.728 TiB; did you mean that, or 3 TiB? Fix: write 2.728 TiB, or 3 TiB.",
    ),
    range=("100..900 GiB", "500 GiB", "60"),
    stop="600 GiB",
    wide="workload.row",
    compression="workload.compression.",
    option=("storage.mode", "s3-plain"),
    left_out=("plot-cold", "plot-day"),
    columns="figures3-cacheds3-plainhdfs",
)
LAKE: Final = "clusters.lake."
UNREAD: Final = (
    f"{LAKE}workload.scanned: one query reads more than all queries together. Fix: working_set is all that queries"
    " read, scanned is the mean of one query."
)
TRINO: Final = PageCase(
    environment=str(PROJECT / "docs/analytics.yaml"),
    cluster="lake",
    choices={
        f"{LAKE}workload.working_set": ("500 GiB", "2 TiB", "15 TiB", "60 TiB"),
        f"{LAKE}workload.scanned": ("5 GiB", "40 GiB", "150 GiB", "400 GiB"),
        f"{LAKE}workload.file": ("64 MiB", "256 MiB", "1 GiB"),
        f"{LAKE}workload.read": ("1 MiB", "8 MiB", "32 MiB"),
        f"{LAKE}workload.queries.per_hour": ("10", "60", "180"),
        f"{LAKE}workload.queries.peak_per_hour": ("", "180", "700"),
        f"{LAKE}workload.popularity": ("uniform", "0.5", "0.7", "0.99", "1.2"),
        f"{LAKE}workload.cpu_seconds_per_gib": ("3", "10", "40"),
        f"{LAKE}targets.hit_ratio": ("0.6", "0.9", "0.99"),
        f"{LAKE}targets.query_time": ("", "2 s", "20 s", "2 min"),
        f"{LAKE}targets.lost_nodes": ("1", "2"),
        f"{LAKE}targets.budget_usd_per_month": ("", "1500", "20000"),
        f"{LAKE}preferred_hosts": ("1", "2"),
    },
    printed=printed_trino,
    key=f"{LAKE}workload.scanned",
    file="40 GiB",
    linked="80 GiB",
    refused=("3 TiB", UNREAD),
    range=("20..60 GiB", "40 GiB", "97"),
    stop="120 GiB",
    wide=f"{LAKE}workload.read",
    option=(f"{LAKE}workload.scanned", ""),
    left_out=(),
    columns="figurecache on gp3cache on NVMeno cache",
)
ORDERS: Final = "workload.tables.shop:daily-orders.v2/d."
EVENTS: Final = "workload.tables.events."
NOT_CONVERTED: Final = (
    f"{ORDERS}stored: 3 TB is 2.728 TiB; did you mean that, or 3 TiB? Fix: write 2.728 TiB, or 3 TiB."
)
TABLES: Final = PageCase(
    environment=str(PROJECT / "tests/reports/explorer/two-tables.yaml"),
    cluster="blue",
    choices={
        f"{ORDERS}stored": ("30 GiB", "700 GiB", "4 TiB"),
        f"{ORDERS}row": ("4 KiB", "10 KiB", "64 KiB"),
        f"{ORDERS}compression.ratio": ("1.5", "4"),
        f"{ORDERS}popularity": ("uniform", "0.6", "1.2"),
        f"{ORDERS}reads.per_second": ("20", "200", "1500"),
        f"{ORDERS}reads.seasons.peak": ("1x", "4x"),
        f"{EVENTS}stored": ("100 GiB", "9 TiB"),
        f"{EVENTS}cell": ("16 B", "600 B"),
        f"{EVENTS}block_size": ("16 KiB", "128 KiB"),
        f"{EVENTS}compression.codec": ("snappy", "zstd"),
        f"{EVENTS}popularity": ("uniform", "0.85"),
        f"{EVENTS}reads.per_second": ("1", "60"),
        f"{EVENTS}writes.bytes_per_second": ("0 B", "3 MiB"),
        "targets.hit_ratio": ("0.6", "0.95"),
        "targets.p99": ("", "80 ms"),
        "storage.mode": ("s3-cached", "hdfs"),
    },
    printed=printed_hbase,
    key=f"{ORDERS}stored",
    file="200 GiB",
    linked="1 TiB",
    refused=("3 TB", NOT_CONVERTED),
    range=("100..900 GiB", "500 GiB", "60"),
    stop="600 GiB",
    wide=f"{EVENTS}row",
    compression=f"{ORDERS}compression.",
    option=("storage.mode", "s3-plain"),
    left_out=("plot-cold", "plot-day"),
    columns="figures3-cacheds3-plainhdfs",
)
CASES: Final = {"hbase": HBASE, "tables": TABLES, "trino": TRINO}
