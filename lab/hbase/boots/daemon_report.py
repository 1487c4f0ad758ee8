"""The settings that daemons report: lines of their logs, their JMX beans, and the configuration that they serve."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from lab.hbase.boots.planned import CACHE_SWITCHES, Value, bytes_of

CACHE_STARTED: Final = re.compile(
    r"Started bucket cache; ioengine=(?P<engine>\S+), capacity=(?P<capacity>[^,]+), blockSize=(?P<block>[^,]+), "
    r"writerThreadNum=(?P<threads>\d+), writerQLen=(?P<queue>\d+), persistencePath=(?P<path>[^,]+),"
)
ALLOCATOR: Final = re.compile(
    r"Cache totalSize=(?P<total>\d+), buckets=\d+, bucket capacity=\d+=\(4\*(?P<largest>\d+)\)"
)
PERSISTER: Final = re.compile(r"BucketCachePersister started with interval: (?P<interval>\d+)")
MEMSTORE: Final = re.compile(r"globalMemStoreLimit=(?P<limit>[\d.]+ ?[KMGT]?),")
HANDLERS: Final = re.compile(r"Instantiated default\.\S+ with .*handlerCount=(?P<all>\d+)")
READ_HANDLERS: Final = re.compile(r"default\.\S+ writeQueues=.* readHandlers=(?P<reads>\d+)")
CACHE_CONFIG: Final = re.compile(r"Created cacheConfig: (?P<switches>.*?) for column family")
BALANCER: Final = re.compile(r"StochasticLoadBalancer: Loaded config;.*?CostFunctions=\[(?P<functions>[^\]]*)\]")
MASTER_WAITS: Final = re.compile(
    r"Waiting on regionserver count=\d+; waited=(?P<waited>\d+)ms, expecting min=(?P<least>\d+) server\(s\), "
    r"max=(?P<most>\S+) server\(s\), timeout=(?P<timeout>\d+)ms"
)
SERVED: Final = "the configuration that it serves at /conf"
JMX: Final = "JMX"
CACHE_AWARE: Final = "CacheAwareCostFunction"
DECIMALS: Final = 3
"""The tolerance for shares of the heap: the log rounds a memstore of 70 MiB to a tenth."""


class Reported(Struct, frozen=True):
    """A figure, and where it stands."""

    value: Value
    where: str


class DaemonReport(Struct, frozen=True, kw_only=True):
    """Everything that one daemon said. `stands_for` is what its paths are to be read as, by what they are here."""

    log: str
    configuration: Mapping[str, str] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    heap_bytes: int = 0
    collector: str = ""
    cache_file_bytes: int | None = None
    stands_for: Mapping[str, str] = field(default_factory=dict)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The first line of its log that says so."""
        return pattern.search(self.log)

    def path(self, text: str) -> str:
        """As it would stand on a node."""
        for here, there in self.stands_for.items():
            text = text.replace(here, there)
        return text


def server_figures(witness: DaemonReport) -> Mapping[str, Reported]:
    """Return the figures that a RegionServer reports; a figure that it does not report is absent."""
    figures = {**_heap(witness), **_handlers(witness), **_switches(witness), **_bucket_cache(witness)}
    if connections := witness.configuration.get("fs.s3a.connection.maximum"):
        figures["S3 connections"] = Reported(float(connections), SERVED)
    return figures


def master_figures(witness: DaemonReport) -> Mapping[str, Reported]:
    """Return the figures of a master that waits for RegionServers."""
    figures, site = {}, witness.configuration
    if line := witness.match(BALANCER):
        aware = CACHE_AWARE in line["functions"]
        name = "CacheAwareLoadBalancer" if aware else "StochasticLoadBalancer"
        figures["balancer"] = Reported(name, f"its log: CostFunctions=[{line['functions'][:60]}…]")
    if line := witness.match(MASTER_WAITS):
        figures["RegionServers waited for"] = Reported(_count(line["most"]), f"its log: {line[0]}")
        figures["wait for RegionServers"] = Reported(float(line["timeout"]), f"its log: {line[0]}")
    if site:
        path = site.get("hbase.bucketcache.persistent.path")
        figures["persistence path"] = Reported(witness.path(path) if path else "none", SERVED)
        figures["retained assignment"] = Reported(_retained(site), SERVED)
    return figures


def _heap(witness: DaemonReport) -> dict[str, Reported]:
    figures = {}
    if witness.heap_bytes and "l1CacheFreeSize" in witness.server:
        l1_bytes = witness.server["l1CacheFreeSize"] + witness.server["l1CacheSize"]
        figures["L1"] = Reported(
            round(l1_bytes / witness.heap_bytes, DECIMALS), f"{JMX}: l1CacheFreeSize and l1CacheSize"
        )
    if witness.heap_bytes and (line := witness.match(MEMSTORE)):
        share = bytes_of(line["limit"]) / witness.heap_bytes
        figures["memstore"] = Reported(round(share, DECIMALS), f"its log: {line[0]}")
    if witness.collector:
        name = {"ZGC": "zgc", "G1": "g1"}.get(witness.collector.split()[0], witness.collector)
        figures["collector"] = Reported(name, f"{JMX}: {witness.collector}")
    return figures


def _handlers(witness: DaemonReport) -> dict[str, Reported]:
    line = witness.match(HANDLERS)
    if line is None:
        return {}
    reads = witness.match(READ_HANDLERS)
    return {
        "handlers": Reported(float(line["all"]), f"its log: {line[0][:60]}…"),
        "handlers of reads": Reported(float(reads["reads"]), f"its log: {reads[0]}")
        if reads
        else Reported("all", "its log: queues are not split"),
    }


def _switches(witness: DaemonReport) -> dict[str, Reported]:
    """As the first store that opens has them."""
    line = witness.match(CACHE_CONFIG)
    if line is None:
        return {}
    switches = dict(pair.split("=", 1) for pair in line["switches"].rstrip(",").split(", "))
    return {
        name: Reported(switches[name], "its log: Created cacheConfig") for name in CACHE_SWITCHES if name in switches
    }


def _bucket_cache(witness: DaemonReport) -> dict[str, Reported]:
    line = witness.match(CACHE_STARTED)
    if line is None:
        return {"engine": Reported("none", "its log: no bucket cache is started")}
    started = "its log: Started bucket cache"
    figures = {
        "engine": Reported(witness.path(line["engine"]), started),
        "capacity": Reported(line["capacity"], started),
        "nominal block": Reported(line["block"], started),
        "writer threads": Reported(float(line["threads"]), started),
        "writer queue": Reported(float(line["queue"]), started),
        "persistence path": Reported(witness.path(line["path"]), started),
    }
    if witness.cache_file_bytes is not None:
        figures["BucketCache"] = Reported(witness.cache_file_bytes / (1 << 20), "the length of its cache file")
    if "l2CacheFreeSize" in witness.server:
        whole = witness.server["l2CacheFreeSize"] + witness.server["l2CacheSize"]
        figures["whole buckets"] = Reported(float(whole), f"{JMX}: l2CacheFreeSize and l2CacheSize")
    if allocator := witness.match(ALLOCATOR):
        figures["largest bucket size"] = Reported(float(allocator["largest"]), f"its log: {allocator[0]}")
    if persister := witness.match(PERSISTER):
        figures["index interval"] = Reported(float(persister["interval"]), f"its log: {persister[0]}")
    return figures | _served(witness.configuration)


def _served(configuration: Mapping[str, str]) -> dict[str, Reported]:
    figures = {}
    if sizes := configuration.get("hbase.bucketcache.bucket.sizes"):
        figures["bucket sizes"] = Reported(sizes, SERVED)
    if chunk := configuration.get("hbase.bucketcache.persistence.chunksize"):
        figures["chunk of the index"] = Reported(float(chunk), SERVED)
    if threads := configuration.get("hbase.hfile.thread.prefetch"):
        figures["prefetch threads"] = Reported(float(threads), SERVED)
    return figures


def _count(text: str) -> Value:
    return float(text) if text.isdigit() else text


def _retained(configuration: Mapping[str, str]) -> str:
    if configuration.get("hbase.master.scp.retain.assignment") != "true":
        return "off"
    if configuration.get("hbase.master.scp.retain.assignment.force") != "true":
        return "asked for"
    return f"forced, {configuration.get('hbase.master.scp.retain.assignment.force.retries')} retries"
