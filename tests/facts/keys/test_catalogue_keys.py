from __future__ import annotations

from itertools import chain

import pytest

from tools.keys.artifacts import HADOOP, HBASE
from tools.keys.jar import is_name
from warmbase.facts import provenance, rows
from warmbase.facts.keys import (
    CatalogueKey,
    current_key,
    deprecated_keys,
    emr_keys,
    hadoop_keys,
    hbase_keys,
    key_prefixes,
)
from warmbase.facts.releases import releases
from warmbase.ground.release import Version, parse_version

HBASE_FACTS: tuple[tuple[str, set[str], set[str]], ...] = (
    ("hbase.bucketcache.persistence.chunksize", {"2.6.1", "2.6.2", "2.6.4"}, {"2.5.13", "1.4.14"}),
    ("hbase.regionserver.free.heap.min.memory.size", {"2.6.4"}, {"2.6.1", "2.6.2"}),
    ("hbase.regionserver.global.memstore.memory.size", {"2.6.5", "2.6.6"}, {"2.6.2", "2.6.4"}),
    ("hbase.rs.evictblocksonsplit", {"2.6.4"}, {"2.6.1", "2.6.2"}),
    ("hbase.master.scp.retain.assignment.force.retries", {"2.6.1", "2.6.2", "2.6.4"}, {"1.4.14"}),
    ("hbase.offheapcache.minblocksize", {"1.4.14", "2.6.2"}, set()),
    ("hbase.bucketcache.ioengine", {"1.4.14", "2.6.2", "3.0.0"}, set()),
    ("hbase.rs.prefetchheapusage", {"3.0.0"}, {"2.6.2", "2.6.6"}),
    ("hbase.hstore.datatiering.grace.period.millis", {"2.6.5", "2.6.6"}, {"2.6.4"}),
    ("hbase.master.balancer.cacheaware.lowCacheRatioThreshold", {"2.6.6"}, {"2.6.4", "2.6.5"}),
    ("hbase.store.file-tracker.impl", {"2.6.2"}, {"1.4.14"}),
)
HADOOP_FACTS: tuple[tuple[str, set[str], set[str]], ...] = (
    ("dfs.client.refresh.read-block-locations.ms", {"3.4.1"}, set()),
    ("fs.s3a.experimental.input.fadvise", {"3.4.0", "3.4.1", "3.4.2"}, set()),
    ("fs.s3a.performance.flags", {"3.4.1"}, {"3.4.0"}),
    ("fs.s3a.input.stream.type", {"3.4.2"}, {"3.4.1"}),
)
UNKNOWN = (
    "hfile.min.blocksize.size",
    "hbase.rootDir",
    "hbase.emr.storageMode",
    "dfs.client.retry.window.multiplier",
)
DEFAULTS: tuple[tuple[str, str, str | None], ...] = (
    ("hbase.master.scp.retain.assignment.force.retries", "2.6.2", "600"),
    ("hbase.bucketcache.persistence.chunksize", "2.6.2", "10000000"),
    ("hbase.regionserver.handler.count", "2.6.2", "30"),
    ("hbase.regionserver.global.memstore.size", "2.6.2", "0.4"),
    ("hfile.block.cache.size", "2.6.4", "0.4"),
    ("hbase.bucketcache.ioengine", "2.6.2", ""),
    ("hbase.rs.evictblocksonclose", "2.6.2", None),
    ("hbase.rs.evictblocksonsplit", "2.6.2", None),
)
EMR_FACTS: tuple[tuple[str, str, Version, bool], ...] = (
    ("hbase.emr.storageMode", "hbase", (7, 12, 0), True),
    ("emr.wal.workspace", "hbase-site", (7, 12, 0), True),
    ("emr.wal.max.payload.size", "hbase-site", (7, 4, 0), False),
    ("hbase.regionserver.fixed.heap.enabled", "hbase", (7, 9, 0), False),
    ("hbase.storefile.tracking.persist.enabled", "hbase-site", (7, 6, 0), False),
    ("fs.s3.maxConnections", "emrfs-site", (7, 6, 0), True),
    ("fs.s3a.emrfs.compatibility.enable", "core-site", (7, 10, 0), True),
    ("metrics_destination", "emr-metrics", (7, 6, 0), True),
)


@pytest.mark.parametrize(("key", "exists", "unknown"), HBASE_FACTS)
def test_hbase_key_exists_in_its_versions(key: str, exists: set[str], unknown: set[str]) -> None:
    assert exists <= set(hbase_keys()[key].versions)
    assert not unknown & set(hbase_keys()[key].versions)


@pytest.mark.parametrize(("key", "exists", "unknown"), HADOOP_FACTS)
def test_hadoop_key_exists_in_its_versions(key: str, exists: set[str], unknown: set[str]) -> None:
    assert exists <= set(hadoop_keys()[key].versions)
    assert not unknown & set(hadoop_keys()[key].versions)


@pytest.mark.parametrize("key", UNKNOWN)
def test_no_version_knows_it(key: str) -> None:
    assert key not in hbase_keys()
    assert key not in hadoop_keys()


@pytest.mark.parametrize(("key", "version", "default"), DEFAULTS)
def test_default_is_what_the_release_states(key: str, version: str, default: str | None) -> None:
    assert hbase_keys()[key].default_in(parse_version(version)) == default


def test_key_knows_its_versions_in_order() -> None:
    key = CatalogueKey(key="hbase.x", defaults={"2.6.1": None, "2.6.2": "1"})
    assert key.versions == ("2.6.1", "2.6.2")
    assert key.exists_in((2, 6, 1))
    assert not key.exists_in((2, 5, 13))
    assert (key.default_in((2, 6, 1)), key.default_in((2, 6, 2))) == (None, "1")


@pytest.mark.parametrize(("key", "classification", "emr", "exists"), EMR_FACTS)
def test_emr_key_exists_from_its_release_on(key: str, classification: str, emr: Version, *, exists: bool) -> None:
    assert emr_keys()[key].classifications == (classification,)
    assert emr_keys()[key].exists_in(emr) == exists


def test_every_release_of_ours_has_its_columns() -> None:
    hbase, hadoop = (
        {parse_version(line.version) for line in lines if "-" not in line.version} for lines in (HBASE, HADOOP)
    )
    assert {release.hbase for release in releases().values()} <= hbase
    assert {release.hadoop for release in releases().values()} <= hadoop


@pytest.mark.parametrize(("name", "lines"), [("hbase.csv", HBASE), ("hadoop.csv", HADOOP)])
def test_columns_are_the_releases_of_the_catalogue(name: str, lines: tuple[object, ...]) -> None:
    columns = list(next(rows(f"keys/{name}")))
    assert columns == ["key", *(line.version for line in (HBASE if name == "hbase.csv" else HADOOP))]
    assert len(columns) == 1 + len(lines)


@pytest.mark.parametrize("name", ["hbase.csv", "hadoop.csv", "emr.csv", "prefixes.csv"])
def test_file_is_sorted_and_says_where_it_is_from(name: str) -> None:
    first = [next(iter(row.values())) for row in rows(f"keys/{name}")]
    assert first == sorted(set(first))
    assert "captured 20" in provenance(f"keys/{name}")[0]


@pytest.mark.parametrize("name", ["hbase.csv", "hadoop.csv"])
def test_every_row_is_a_key_that_some_version_knows(name: str) -> None:
    for row in rows(f"keys/{name}"):
        key, *cells = row.values()
        assert is_name(key), key
        assert any(cells), key
        assert all(len(cell) <= 120 and cell == cell.strip() for cell in cells), key


def test_emr_keys_are_nobody_elses_and_have_a_page() -> None:
    assert not set(emr_keys()) & {*hbase_keys(), *hadoop_keys()}
    for key in emr_keys().values():
        assert key.classifications
        assert key.page.startswith(("Release Guide ", "Management Guide ")), key


def test_prefix_is_open_at_its_end() -> None:
    keys = set(chain(hbase_keys(), hadoop_keys(), emr_keys()))
    for row in rows("keys/prefixes.csv"):
        assert row["prefix"].endswith(".")
        assert row["prefix"] not in keys
        assert row["application"] in {"hbase", "hadoop", "emr"}
        assert row["then"]
    assert key_prefixes()


def test_a_deprecated_name_leads_to_a_key_that_a_release_has() -> None:
    known = {*hbase_keys(), *hadoop_keys()}
    assert {key for key in deprecated_keys().values() if key not in known} == set()
    assert all(current_key(key) == key for key in deprecated_keys().values())
    assert current_key("fs.default.name") == "fs.defaultFS"
    assert current_key("fs.defaultFS") == "fs.defaultFS"
