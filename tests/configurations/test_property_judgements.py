"""The judgements that reach a property: each value is stated here, and its reason in the catalogue names it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.configurations.variants import VARIANTS, Variant, small_cache_launch, variant_launch
from warmbase.configurations.bootstrap import actions
from warmbase.configurations.launch import Launch
from warmbase.configurations.metrics import EXPORT_INTERVAL_MS
from warmbase.configurations.properties import CATALOGUE
from warmbase.configurations.table_ddl import advised_block_bytes
from warmbase.emr.cluster_spec import flattened
from warmbase.environments.reader import read_environment
from warmbase.ground.units import MIB
from warmbase.sizing.modes import HDFS, S3_CACHED
from warmbase.sizing.server.system_volume import heap_dump_bytes
from warmbase.sizing.workload.workload import Reads

Launches = Callable[[str], Launch]

CORE: list[tuple[str, str, str, str]] = [
    # classification, key, rendered for prod, a figure of the reason
    ("hbase-site", "hbase.bucketcache.queue.addition.waittime", "1000", "1,000 ms"),
    ("hbase-site", "hbase.hfile.prefetch.delay", "10000", "10 s"),
    ("hbase-site", "hbase.offpeak.start.hour", "6", "1 o'clock"),
    ("hbase-site", "hbase.offpeak.end.hour", "10", "5 o'clock"),
    ("hbase-site", "hbase.hstore.compaction.max.size", "2147483648", "2 GiB"),
    ("hbase-site", "hbase.hstore.compaction.max.size.offpeak", "9223372036854775807", "any size"),
    ("hbase-site", "hbase.hstore.compaction.ratio.offpeak", "1.2", "default of 5"),
    ("hbase-site", "hbase.hstore.compaction.throughput.lower.bound", "52428800", "50 MiB/s"),
    ("core-site", "fs.s3a.retry.throttle.interval", "500ms", "doubles"),
    ("core-site", "fs.s3a.retry.throttle.limit", "9", "9 times, for about 4 minutes"),
    ("emr-metrics/emr-hbase-region-server-metrics", "otel.metric.export.interval", "60000", "60 s"),
]


def core(launch: Launch) -> dict[tuple[str, str], str]:
    return {(path, key): value for path, key, value in flattened(launch.settings.core)}


@pytest.mark.parametrize(("path", "key", "value", "figure"), CORE, ids=str)
def test_a_fixed_value_is_rendered_and_its_reason_names_it(path: str, key: str, value: str, figure: str) -> None:
    assert core(variant_launch(VARIANTS[0]))[path, key] == value
    assert figure in CATALOGUE[path, key].reason


def test_the_primary_heap_is_half_of_the_smallest_node() -> None:
    primary = {key: value for _, key, value in flattened(variant_launch(VARIANTS[0]).settings.primary)}
    assert primary["HBASE_HEAPSIZE"] == "4096m"
    assert "4,096 MiB" in CATALOGUE["hbase-env/export", "HBASE_HEAPSIZE"].reason


PRIMARY = [
    ("hbase.reopen.table.regions.progressive.batch.backoff.ms", "1000", "1,000 ms"),
    ("hbase.master.balancer.maxRitPercent", "0.01", "at most 1% of the regions"),
    ("zookeeper.session.timeout", "40000", "after 40 s of silence"),
]


@pytest.mark.parametrize(("key", "value", "figure"), PRIMARY)
def test_a_fixed_value_of_the_masters_is_rendered_and_its_reason_names_it(key: str, value: str, figure: str) -> None:
    primary = {(path, key): text for path, key, text in flattened(variant_launch(VARIANTS[0]).settings.primary)}
    assert primary["hbase-site", key] == value
    assert figure in CATALOGUE["hbase-site", key].reason


def test_open_files_in_hdfs_learn_block_locations_in_half_a_minute() -> None:
    entry = "hbase-site", "dfs.client.refresh.read-block-locations.ms"
    assert core(variant_launch(Variant(HDFS)))[entry] == "30000"
    assert "30 s" in CATALOGUE[entry].reason
    assert core(variant_launch(Variant(HDFS)))["hbase-site", "hbase.locality.inputstream.derive.enabled"] == "true"


def test_the_collector_keeps_ten_logs_of_64_mib() -> None:
    entry = "hbase-env/export", "HBASE_REGIONSERVER_GC_OPTS"
    assert "filecount=10,filesize=64m" in core(variant_launch(VARIANTS[0]))[entry]
    assert "10 files of 64 MiB" in CATALOGUE[entry].reason


def test_a_heap_dump_may_take_24_gib_of_the_system_volume() -> None:
    assert "at most 24 GiB" in CATALOGUE["hbase-env/export", "HBASE_REGIONSERVER_OPTS"].reason
    sizes = (16, 64, 640)
    assert [heap_dump_bytes(size_gib) // 2**30 for size_gib in sizes] == [6, 24, 24]


def test_a_full_disk_does_not_cost_a_core_node(launches: Launches) -> None:
    entry = "yarn-site", "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage"
    assert core(launches("prod"))[entry] == "99"
    assert "99" in CATALOGUE[entry].reason


def test_metrics_are_exported_once_a_minute() -> None:
    assert EXPORT_INTERVAL_MS == 60_000


def test_nodes_have_limits_and_time_outs_for_a_large_region_server(launches: Launches) -> None:
    launch = launches("prod")
    persistence = launch.plan.persistence
    arguments = {action.name: action.arguments for action in actions(launch)}
    assert arguments["tune-kernel"] == ("--open-files=131072", "--processes=65536")
    seconds = {
        name: int(text)
        for name, text in re.findall(r"--(\w+)-seconds=(\d+)", " ".join(arguments["guard-regionserver"]))
    }
    assert seconds["stop"] == persistence.stop_timeout_seconds + 60
    assert seconds["start"] == 300 + -(-persistence.index_bytes // 2**30)


@pytest.mark.parametrize(
    ("kind", "row_bytes", "advised_bytes"),
    [
        ("scan", 100, 128 * 1024),
        ("get", 100, 8 * 1024),
        ("get", 2 * 1024 + 1, 16 * 1024),
        ("get", 4 * 1024, 16 * 1024),
        ("get", 10**6, 64 * 1024),
    ],
)
def test_a_block_of_four_rows_is_advised_between_8_and_64_kib(kind: str, row_bytes: int, advised_bytes: int) -> None:
    workload = read_environment("prod").workload
    reads: Reads = replace(workload.reads, kind=kind)
    assert advised_block_bytes(replace(workload, row_bytes=row_bytes, reads=reads)) == advised_bytes


THRESHOLD = "hbase-site", "hbase.rs.cachecompactedblocksonwrite.threshold"
SNAPSHOT = "hbase.snapshot.before.destructive.action.enabled"


def test_large_compactions_replace_no_cache_that_is_smaller_than_the_data(launches: Launches) -> None:
    prod = launches("prod")
    assert THRESHOLD not in core(prod)
    small = small_cache_launch()
    cache_bytes = small.plan.cache.size_mib * MIB
    assert cache_bytes * small.plan.core.count < small.plan.hit_ratio.curve[-1][0]
    assert core(small)[THRESHOLD] == str(int(0.1 * cache_bytes))
    assert "10% of a server's cache" in CATALOGUE[THRESHOLD].reason


@pytest.mark.parametrize(
    ("label", "role", "value"),
    [("emr-7.12.0", "active", None), ("emr-7.14.0", "active", "true"), ("emr-7.14.0", "replica", None)],
)
def test_the_active_cluster_keeps_a_snapshot_of_what_is_deleted(label: str, role: str, value: str | None) -> None:
    launch = variant_launch(Variant(S3_CACHED, role), label)
    assert {key: text for _, key, text in flattened(launch.settings.primary)}.get(SNAPSHOT) == value
