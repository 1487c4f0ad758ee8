"""A key moves the plan if and only if the environment page says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.tiers import quick_where
from warmbase.engines.trino.planning import trino_plan_of
from warmbase.engines.trino.section import ANY_TRINO
from warmbase.environments.draft import yaml_text
from warmbase.environments.environment import Environment
from warmbase.environments.planning import requirements, world
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.schema_keys import ANY_NAME, schema_keys
from warmbase.reports.json_text import plain
from warmbase.sizing.calculator import plan

BASE: Final = """\
name: events
region: us-east-1
release: emr-7.12.0
network: {availability_zone: us-east-1a}
workload:
  stored: 3 TiB
  row: 20 KiB
  cell: 1 KiB
  reads: {per_second: 2000}
  writes: {bytes_per_second: 1 MiB}
  compression: {codec: zstd, ratio: 2}
  popularity: {zipf: 0.9}
  regions: 300
clusters:
  blue: {}
  lake:
    engine: trino
    workload: {working_set: 3 TiB, scanned: 50 GiB, queries: {per_hour: 30}, popularity: {zipf: 0.9}}
    workers: {families: [r8g]}
"""
VALUES: Final = {
    "region": "eu-west-1", "storage.wal": "emr-wal", "storage.mode": "hdfs", "network.vpc": "vpc-01234567",
    "workload.block_size": "32 KiB", "workload.compression.codec": "none", "workload.compression.ratio": "1.5",
    "workload.encoding": "DIFF", "workload.reads.kind": "scan", "workload.reads.rows": "9",
    "workload.reads.peak_per_second": "9000", "workload.reads.seasons.peak": "5x", "workload.reads.seasons.hours": "2",
    "workload.writes.cells_per_put": "20", "workload.spread": "{zipf: 0.9}", "targets.hit_ratio": "0.999",
    "targets.p99": "6 ms", "targets.warm_up": "30 min", "targets.carries_load_within": "1 s",
    "targets.offline_after_crash": "7 min", "targets.lost_nodes": "3", "targets.budget_usd_per_month": "100",
    "clusters.NAME.primaries": "3", "clusters.NAME.core.families": "[m8g]", "release": "emr-7.13.0",
    "clusters.NAME.role": "replica",
    "network.endpoint_policies": "false", "storage.root": "s3://bucket/hbase/", "clusters.NAME.core.count": "9",
    "clusters.NAME.core.volumes": "[{purpose: cache, size: 1420 GiB}, {purpose: system, size: 64 GiB}]",
    "clusters.NAME.engine": "hbase", "clusters.TRINO.engine": "trino", "clusters.TRINO.catalog": "iceberg",
    "clusters.TRINO.data": "['s3://our-lake/tables/']",
    "clusters.TRINO.workload.file_format": "orc", "clusters.TRINO.preferred_hosts": "2",
    "clusters.TRINO.workload.read": "1 MiB", "clusters.TRINO.workload.file": "4 MiB",
    "clusters.TRINO.workload.cpu_seconds_per_gib": "60", "clusters.TRINO.targets.hit_ratio": "0.99",
    "clusters.TRINO.targets.query_time": "20 s", "clusters.TRINO.targets.lost_nodes": "2",
    "clusters.TRINO.targets.budget_usd_per_month": "100", "clusters.TRINO.workers.families": "[m8g]",
    "clusters.TRINO.workers.count": "9", "clusters.TRINO.workload.queries.per_hour": "20",
    "clusters.TRINO.workers.volumes": "[{purpose: cache, size: 900 GiB}, {purpose: system, size: 64 GiB}]",
}  # fmt: skip
"""A value that differs from the base, for keys whose example does not."""
BESIDE: Final = {
    "storage.owner": {"storage.root": "s3://bucket/hbase/"},
    "workload.compression.codec": {"workload.compression.ratio": "1.0"},
    "workload.reads.rows": {"workload.reads.kind": "scan"},
    "workload.reads.seasons.peak": {"workload.reads.seasons": "{peak: 2x, hours: 3}"},
    "workload.reads.seasons.hours": {"workload.reads.seasons": "{peak: 2x, hours: 3}"},
}
"""Values of other keys that the base needs for a key to have a meaning."""
TOGETHER: Final = {
    "clusters.NAME.role": {"clusters": "{blue: {role: replica}, green: {role: active}}"},
    "network.vpc": {"network.subnet": "subnet-01234567"},
    "region": {"network.availability_zone": "eu-west-1a"},
    "workload.reads.concurrency": {"workload.reads.per_second": "null"},
    "workload.tables": {"workload": "{}"},
}
"""Values of other keys that change together with a key."""
ELSEWHERE: Final = (
    "workload.inspection",
    "workload.cache",
    "network.subnet",
    "network.route_table",
    "storage.key",
    "access.security_groups",
)
"""Keys that need a file of their own, or another key that moves the plan."""
WITHIN: Final = (
    "clusters.NAME.targets.",
    "clusters.NAME.workload.",
    "workload.popularity.",
    "clusters.TRINO.workload.popularity.",
    "workload.spread.",
    "security.",
)
"""The keys within a value that is tried as a whole, or that no plan reads."""
PATHS: Final = [
    path
    for path, key in schema_keys().items()
    if not key.is_section and "[]" not in path and not path.startswith(WITHIN) and path not in ELSEWHERE
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("effects") / "events.yaml"
    file.write_text(BASE, encoding="utf-8")
    return file


def assignment(path: str, text: str) -> Assignment:
    return Assignment.at(tuple(path.replace(ANY_NAME, "blue").replace(ANY_TRINO, "lake").split(".")), text, "--set")


def planned(environment: Environment, path: str) -> str:
    """Return the figures of the plan that the key is about, without the names of its environment and of its root."""
    of_trino = path.startswith(f"clusters.{ANY_TRINO}.")
    document = plain(
        trino_plan_of(environment, environment.analytics["lake"])
        if of_trino
        else plan(requirements(environment, environment.clusters["blue"]), world(environment))
    )
    assert isinstance(document, dict)
    names = {"environment", "root", "because", "catalog"}
    return json.dumps({key: value for key, value in document.items() if key not in names})


@pytest.mark.parametrize("path", quick_where(lambda path: path in {"workload.stored", "tags"}, PATHS))
def test_a_key_moves_the_plan_where_the_page_says_so(path: str, base: Path) -> None:
    text = VALUES.get(path) or yaml_text(schema_keys()[path].example)
    beside = [assignment(*other) for other in BESIDE.get(path, {}).items()]
    together = [assignment(*other) for other in TOGETHER.get(path, {}).items()]
    before = read_environment(str(base), beside)
    after = read_environment(str(base), [*beside, *together, assignment(path, text)])
    assert (planned(before, path) != planned(after, path)) == bool(schema_keys()[path].effect)
