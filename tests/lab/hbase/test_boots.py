"""The launches to boot, the expected figures, and the reading of reports; no HBase is started here."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from lab.hbase.boots.daemons import (
    BootCase,
    DaemonReport,
    Reported,
    byte_text,
    bytes_of,
    cases,
    distinct,
    master_figures,
    planned_of_core,
    planned_of_primary,
    server_figures,
)
from lab.hbase.boots.refusals import FAULTS, Fault, decisive, faulty_launch, unproven_rules
from lab.hbase.boots.rendered import defined_tables, facts, table_figures
from warmbase.configurations import node_files
from warmbase.configurations.launch import Launch, launch_of, planned_spec
from warmbase.configurations.table_ddl import table_ddl
from warmbase.environments.reader import read_environment
from warmbase.ground.units import MIB
from warmbase.linter.lint import lint
from warmbase.linter.rule import BOOTED
from warmbase.linter.rules import RULES
from warmbase.sizing.modes import MODES

VOLUME = "/lab/volumes/0"
SERVER_LOG = """\
INFO  [main] ipc.RpcExecutor: Instantiated default.FPRWQ.Fifo with queueClass=class q; numCallQueues=3, \
maxQueueLength=300, handlerCount=30
INFO  [main] ipc.RWQueueRpcExecutor: default.FPRWQ.Fifo writeQueues=1 writeHandlers=8 readQueues=2 readHandlers=22 \
scanQueues=0 scanHandlers=0
INFO  [main] ipc.RWQueueRpcExecutor: priority.RWQ.Fifo writeQueues=1 writeHandlers=2 readQueues=1 readHandlers=18
INFO  [main] hfile.BlockCacheFactory: Allocating BlockCache size=69.12 MB, blockSize=64.40 KB
INFO  [main] bucket.BucketCachePersister: BucketCachePersister started with interval: 660000
INFO  [main] bucket.BucketAllocator: Cache totalSize=73313280, buckets=37, bucket capacity=1981440=(4*495360)=\
(FEWEST_ITEMS_IN_BUCKET*(largest configured bucketcache size))
INFO  [main] bucket.BucketCache: Started bucket cache; ioengine=files:/lab/volumes/0/bucketcache/blocks, \
capacity=71 MB, blockSize=64.40 KB, writerThreadNum=8, writerQLen=256, \
persistencePath=/lab/volumes/0/index/bucketcache.index, bucketAllocator=org.apache.BucketAllocator
INFO  [rs] regionserver.MemStoreFlusher: globalMemStoreLimit=69.1 M, globalMemStoreLimitLowMark=65.7 M, Offheap=false
INFO  [opener] regionserver.HStore: Created cacheConfig: cacheDataOnRead=true, cacheDataOnWrite=true, \
cacheIndexesOnWrite=false, cacheBloomsOnWrite=false, cacheEvictOnClose=false, cacheDataCompressed=true, \
prefetchOnOpen=true, for column family info of region 1588230740
"""
MASTER_LOG = """\
INFO  [m] balancer.StochasticLoadBalancer: Loaded config; maxSteps=1000000, isByTable=false, \
CostFunctions=[CacheAwareRegionSkewnessCostFunction, CacheAwareCostFunction] , sum of multiplier = 0.0 etc.
INFO  [m] master.ServerManager: Waiting on regionserver count=0; waited=0ms, expecting min=1 server(s), \
max=10 server(s), timeout=300000ms, lastChange=0ms
"""


@pytest.fixture(scope="module")
def prod() -> Launch:
    environment = read_environment("prod")
    return launch_of(environment, environment.active)


@pytest.fixture(scope="module")
def spread() -> tuple[BootCase, ...]:
    return cases()


# --- what is booted ---


def test_every_mode_and_role_is_booted_on_every_hbase(spread: tuple[BootCase, ...]) -> None:
    booted = {(case.launch.plan.mode, case.ground.jars) for case in spread}
    assert {mode for mode, _ in booted} == set(MODES.values())
    assert len({jars for _, jars in booted}) == len(booted) / len(MODES) == 2
    roles = {case.launch.environment.clusters[case.launch.plan.cluster].role for case in spread}
    assert roles == {"active", "replica"}


def test_environment_files_and_examples_are_booted(spread: tuple[BootCase, ...]) -> None:
    names = {case.launch.environment.name for case in spread}
    assert names == {"dev", "prod", "published-emr", "development", "nvme", "recovery"}


def test_the_spread_has_both_collectors_and_both_ways_to_cache(spread: tuple[BootCase, ...]) -> None:
    planned = [planned_of_core(case.launch) for case in spread]
    assert {item["collector"] for item in planned} == {"zgc", "g1"}
    cached = {item["cacheDataCompressed"] for item in planned if item["engine"] != "none"}
    assert cached == {"true", "false"}


def test_nothing_is_booted_twice(spread: tuple[BootCase, ...]) -> None:
    assert len({case.name for case in spread}) == len(spread)
    assert tuple(distinct([*spread, *spread], "core")) == spread
    assert 0 < len(tuple(distinct(spread, "primary"))) < len(spread)


# --- what should be said, and what is ---


def test_a_launch_says_what_was_planned(prod: Launch) -> None:
    planned, cache = planned_of_core(prod), prod.plan.cache
    assert planned["BucketCache"] == cache.size_mib
    assert planned["engine"] == f"files:{node_files.CACHE_FILE}"
    assert planned["bucket sizes"] == ",".join(map(str, cache.bucket_sizes))
    assert planned["L1"] == prod.plan.heap.l1_fraction
    assert planned_of_primary(prod)["balancer"] == "CacheAwareLoadBalancer"


def test_a_plan_without_a_cache_has_no_engine_and_the_usual_balancer() -> None:
    environment = read_environment("tests/environments/examples/recovery.yaml")
    launch = launch_of(environment, environment.active)
    planned = planned_of_core(launch)
    assert planned["engine"] == "none"
    assert "BucketCache" not in planned
    assert planned["prefetchOnOpen"] == "false"
    assert planned_of_primary(launch)["balancer"] == "StochasticLoadBalancer"


def server_witness(log: str = SERVER_LOG) -> DaemonReport:
    return DaemonReport(
        log=log,
        configuration={"hbase.bucketcache.bucket.sizes": "65792,495360", "hbase.hfile.thread.prefetch": "16"},
        server={"l1CacheFreeSize": 72_402_480, "l1CacheSize": 75_096, "l2CacheFreeSize": 73_313_280, "l2CacheSize": 0},
        heap_bytes=768 * MIB,
        collector="ZGC Minor Cycles",
        cache_file_bytes=71 * MIB,
        stands_for={VOLUME: node_files.CACHE},
    )


def test_a_server_is_read_as_it_speaks() -> None:
    reported = {name: item.value for name, item in server_figures(server_witness()).items()}
    assert reported == {
        "L1": 0.09,
        "memstore": 0.09,
        "collector": "zgc",
        "handlers": 30.0,
        "handlers of reads": 22.0,
        "cacheDataOnRead": "true",
        "cacheDataOnWrite": "true",
        "cacheEvictOnClose": "false",
        "cacheDataCompressed": "true",
        "prefetchOnOpen": "true",
        "engine": f"files:{node_files.CACHE_FILE}",
        "capacity": "71 MB",
        "nominal block": "64.40 KB",
        "writer threads": 8.0,
        "writer queue": 256.0,
        "persistence path": node_files.INDEX_FILE,
        "BucketCache": 71.0,
        "whole buckets": 73_313_280.0,
        "largest bucket size": 495_360.0,
        "index interval": 660_000.0,
        "bucket sizes": "65792,495360",
        "prefetch threads": 16.0,
    }


def test_without_a_cache_the_engine_is_none() -> None:
    log = "\n".join(line for line in SERVER_LOG.splitlines() if "ucket" not in line)
    reported = server_figures(server_witness(log))
    assert reported["engine"].value == "none"
    assert "BucketCache" not in reported


def test_a_master_is_read_as_it_speaks() -> None:
    retention = "hbase.master.scp.retain.assignment"
    configuration = {
        "hbase.bucketcache.persistent.path": f"{VOLUME}/index/bucketcache.index",
        retention: "true",
        f"{retention}.force": "true",
        f"{retention}.force.retries": "13",
    }
    reported = master_figures(
        DaemonReport(log=MASTER_LOG, configuration=configuration, stands_for={VOLUME: node_files.CACHE})
    )
    assert {name: item.value for name, item in reported.items()} == {
        "balancer": "CacheAwareLoadBalancer",
        "RegionServers waited for": 10.0,
        "wait for RegionServers": 300_000.0,
        "persistence path": node_files.INDEX_FILE,
        "retained assignment": "forced, 13 retries",
    }


def test_what_is_not_reported_is_a_difference() -> None:
    (figure,) = facts("case", {"L1": 0.09}, {})
    assert figure.measured == "not said"
    assert figure.holds is False
    (figure,) = facts("case", {"L1": 0.09}, {"L1": Reported(0.09, "JMX")})
    assert figure.holds is True


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (512, "512 B"),
        (65_950, "64.40 KB"),
        (71 * MIB, "71 MB"),
        (828_416 * MIB, "809 GB"),
        (2_181_120 * MIB, "2.08 TB"),
        (MIB - 1, "1.00 MB"),
    ],
)
def test_sizes_are_written_as_hbase_writes_them(size_bytes: int, text: str) -> None:
    assert byte_text(size_bytes) == text
    assert bytes_of(text) == pytest.approx(size_bytes, rel=0.01)


def test_what_is_no_size_is_refused() -> None:
    with pytest.raises(ValueError, match="no size"):
        bytes_of("much")


# --- tables ---


def test_an_emitted_script_is_read_back_whole(prod: Launch) -> None:
    (table,) = defined_tables(table_ddl(prod))
    (family,) = table.families
    assert (table.name, family.name) == ("usertable", "cf")
    assert family.attributes == {
        "BLOCKSIZE": "65536",
        "BLOOMFILTER": "ROW",
        "DATA_BLOCK_ENCODING": prod.environment.workload.encoding,
        "COMPRESSION": prod.environment.workload.codec.upper(),
        "PREFETCH_BLOCKS_ON_OPEN": "true",
        "CACHE_DATA_ON_WRITE": "true",
        "EVICT_BLOCKS_ON_CLOSE": "false",
        "BLOCKCACHE": "true",
    }


def test_an_attribute_that_the_master_lost_is_a_difference(prod: Launch) -> None:
    (table,) = defined_tables(table_ddl(prod))
    stored = {"name": "cf", **(table.families[0].attributes or {})}
    assert all(table_figure.holds for table_figure in table_figures("prod", table, {"families": [stored]}))
    del stored["BLOCKSIZE"]
    missed = [
        table_figure.name
        for table_figure in table_figures("prod", table, {"families": [stored]})
        if not table_figure.holds
    ]
    assert missed == ["BLOCKSIZE"]


# --- files that lint refuses ---


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.index is None], ids=lambda fault: fault.case)
def test_lint_finds_the_fault(fault: Fault, prod: Launch) -> None:
    ids = {finding.id for finding in lint(planned_spec(faulty_launch(prod, fault))).findings}
    assert fault.rule in ids


def test_only_the_fault_differs(prod: Launch) -> None:
    fault = next(candidate for candidate in FAULTS if candidate.rule == "WB201")
    changed = faulty_launch(prod, fault)
    assert changed.settings.primary == prod.settings.primary
    assert replace(changed, settings=prod.settings) == prod


def test_rules_declared_as_booted_are_those_with_a_fault() -> None:
    assert {rule.id for rule in RULES if rule.proof == BOOTED} == {fault.rule for fault in FAULTS}


def test_every_other_rule_is_listed_with_its_reason() -> None:
    sentences = unproven_rules()
    for rule in RULES:
        listed = [sentence for sentence in sentences if re.search(rf"[ ,]{rule.id}[,.]", sentence)]
        assert len(listed) == (rule.proof != BOOTED), rule.id
        assert all(f"({rule.proof})" in sentence for sentence in listed)


def test_cases_are_distinct() -> None:
    assert len({fault.case for fault in FAULTS}) == len(FAULTS)


def test_the_decisive_line_begins_where_the_sign_does() -> None:
    log = "00:01 INFO x\n00:02 ERROR y: java.lang.IllegalArgumentException: Illegal value: 65793\n\tat z\n"
    assert decisive(log, r"IllegalArgumentException.*") == "IllegalArgumentException: Illegal value: 65793"
    assert decisive(log, "nothing of the kind") == ""
