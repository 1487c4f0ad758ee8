from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.speed import loops
from warmbase.facts.keys import emr_keys, hadoop_keys, hbase_keys
from warmbase.facts.keys.nearest import near_misses

KEYS = frozenset({*hbase_keys(), *hadoop_keys(), *emr_keys()})
LONG = sorted(key for key in KEYS if len(key) > 12)
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.-_"

SLIPS = (
    ("HBASE.ROOTDIR", "hbase.rootdir"),
    ("hbase.rotdir", "hbase.rootdir"),
    ("hbase-rootdir", "hbase.rootdir"),
    ("dfs.replicaton", "dfs.replication"),
    ("hbase.bucketcache.iongine", "hbase.bucketcache.ioengine"),
    ("hbase.bucketcache.ioegnine", "hbase.bucketcache.ioengine"),
    ("hbase.bucketcache.bucketsizes", "hbase.bucketcache.bucket.sizes"),
    ("hbase.bucketcache.sizes", "hbase.bucketcache.bucket.sizes"),
    ("hbase.bucketcache.sizes", "hbase.bucketcache.size"),
    ("hbase.bucketcache.bucketcache.size", "hbase.bucketcache.size"),
    ("hbase.region.server.handler.count", "hbase.regionserver.handler.count"),
    ("hbase.regionserver.handlers.count", "hbase.regionserver.handler.count"),
    ("hbase.regionserver.count.handler", "hbase.regionserver.handler.count"),
    ("hbase.regionserver.memstore.global.size", "hbase.regionserver.global.memstore.size"),
    ("hbase.rs.prefetchblockonopen", "hbase.rs.prefetchblocksonopen"),
    ("hbase.hstore.blockingstorefiles", "hbase.hstore.blockingStoreFiles"),
    ("hbase.hstore.blockingStoreFile", "hbase.hstore.blockingStoreFiles"),
    ("hbase.client.operations.timeouts", "hbase.client.operation.timeout"),
    ("hbase.hregion.memstore.size", "hbase.hregion.memstore.flush.size"),
    ("fs.s3.maxconnection", "fs.s3.maxConnections"),
    ("hbase.emr.storagemode", "hbase.emr.storageMode"),
    ("hbase.emr.read.replica.enabled", "hbase.emr.readreplica.enabled"),
)
INNOCENTS = (
    "hbase.mycompany.cache.size",
    "hbase.mycompany.enabled",
    "hbase.coprocessor.audit.log",
    "hbase.acme.regionserver.handler.count",
    "hbase.tsdb.size",
    "hbase.cache.size",
    "hbase.auth.key.type",
    "phoenix.schema.isNamespaceMappingEnabled",
    "phoenix.query.timeoutMs",
    "my.application.key",
    "fs.oss.impl",
    "dfs.client.retry.window.multiplier",
    "hbase.rs.prefetchheapusage",
    "spark.executor.memory",
    "",
    "x",
)


@pytest.mark.parametrize(("slip", "real"), SLIPS)
def test_slip_is_near_the_real_key(slip: str, real: str) -> None:
    assert real in near_misses(slip, KEYS)


@pytest.mark.parametrize("key", INNOCENTS)
def test_other_key_is_near_none(key: str) -> None:
    assert near_misses(key, KEYS) == ()


@pytest.mark.parametrize("key", ["hbase.rootdir", "hbase.bucketcache.size", "dfs.replication", "fs.s3.maxConnections"])
def test_real_key_is_not_a_slip(key: str) -> None:
    assert near_misses(key, KEYS) == ()


def test_nearest_is_first() -> None:
    assert near_misses("hbase.bucketcache.sizes", KEYS)[0] == "hbase.bucketcache.size"


def test_singular_is_the_plural() -> None:
    assert near_misses("hbase.cache.boundary", ["hbase.cache.boundaries"]) == ("hbase.cache.boundaries",)


def test_short_key_bears_one_edit_only() -> None:
    assert near_misses("nfs.rtmex", ["nfs.rtmax"]) == ("nfs.rtmax",)
    assert near_misses("nfs.retmex", ["nfs.rtmax"]) == ()


def test_a_caller_may_bear_one_edit_only() -> None:
    assert near_misses("trino-connector-kudu", ["trino-connector-hudi"]) == ("trino-connector-hudi",)
    assert near_misses("trino-connector-kudu", ["trino-connector-hudi"], most_edits=1) == ()
    assert near_misses("trino-connector-huddi", ["trino-connector-hudi"], most_edits=1) == ("trino-connector-hudi",)


@st.composite
def edited_keys(draw: st.DrawFn) -> tuple[str, str]:
    """Return a real key, and the same with one letter inserted, left out, replaced or swapped with the next."""
    key = draw(st.sampled_from(LONG))
    at = draw(st.integers(0, len(key) - 2))
    letter = draw(st.sampled_from(LETTERS))
    before, after = key[:at], key[at:]
    edits = (before + letter + after, before + after[1:], before + letter + after[1:])
    return key, draw(st.sampled_from((*edits, before + after[1] + after[0] + after[2:])))


@given(edited_keys())
def test_one_edit_is_near(keys: tuple[str, str]) -> None:
    key, edited = keys
    assert edited in KEYS or key in near_misses(edited, KEYS)


@pytest.mark.bench
def test_sixty_unknown_keys_are_compared_quickly() -> None:
    """4.9 loops as measured, which was a quarter of a second."""
    near_misses("warm", KEYS)

    def compare_all() -> None:
        for key in LONG[:: len(LONG) // 60][:60]:
            near_misses(f"{key[:8]}q{key[8:]}x", KEYS)

    assert loops(compare_all, attempts=3) < 9
