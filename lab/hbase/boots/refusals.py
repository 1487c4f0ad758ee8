"""Faults in configuration files that lint refuses: HBase boots with each, and fails or misbehaves as the rule says."""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from lab.hbase.admin import TableFamily, TableSpec
from lab.hbase.boots.daemons import CACHE_CONFIG, CACHE_STARTED, MASTER_WAITS, VARIED, BootCase, Daemons, daemons
from lab.hbase.experiment import SAME, ScenarioResult
from lab.hbase.result import Measurement
from warmbase.configurations import node_files
from warmbase.configurations.launch import Launch, launch_of
from warmbase.emr.cluster_spec import Classification, Classifications
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import KIB
from warmbase.linter.rule import BOOTED
from warmbase.linter.rules import RULES


class Outcome(StrEnum):
    """The outcomes of a boot with a file that lint refuses."""

    DID_NOT_START = "did not start"
    NO_CACHE = "started without any cache"
    NO_BUCKET_CACHE = "started without a BucketCache"
    CACHED_NOTHING = "started, and cached no block of 64 KiB"
    NO_INDEX = "started, and kept no index at its stop"
    STARTED = "started all the same"
    WAITED_ON = "waited on, beyond its timeout"
    IGNORED = "ignored it with a warning"


class Trigger(StrEnum):
    """The action that makes a started RegionServer show a fault."""

    NOTHING = "nothing"
    STOP = "to stop"
    WRITE = "to write a block"


class Fault(Struct, frozen=True, kw_only=True):
    """One fault in the files of a launch; `sign` matches a line of the daemon's log that names it.

    `site` changes `hbase-site` of the group, where None removes a key; `collector` replaces the flags of the collector;
    `index` is the content of the persistence index.
    """

    rule: str
    sign: str
    outcome: Outcome = Outcome.DID_NOT_START
    site: Mapping[str, str | None] = field(default_factory=dict)
    group: str = "core"
    collector: str | None = None
    index: bytes | None = None
    trigger: Trigger = Trigger.NOTHING

    @property
    def case(self) -> str:
        """The rule, and what stands in the file."""
        written = [f"{key}={value}" if value is not None else f"no {key}" for key, value in self.site.items()]
        written += [self.collector] if self.collector else []
        written += (
            [f"an index of {HEADER.unpack(self.index)[2]} chunks, and none there"] if self.index is not None else []
        )
        title = next(rule.title for rule in RULES if rule.id == self.rule)
        return f"{self.rule} {title}: {', '.join(written)}"


ENGINE: Final = "hbase.bucketcache.ioengine"
BLOCKS: Final = "/warmbase/cache/bucketcache/blocks"
HEADER: Final = struct.Struct(">4sqq")
# HBase 2.6.1 to 2.6.4: magic, blocks in a chunk, number of chunks. This is what an empty cache leaves at a clean stop.
EMPTY_INDEX: Final = HEADER.pack(b"V2UF", 1_000_000, 0)
CUT_OFF_INDEX: Final = HEADER.pack(b"V2UF", 1_000_000, 2)

FAULTS: Final = (
    Fault(
        rule="WB101",
        site={ENGINE: None, "hbase.bucketcache.io.engine": f"files:{BLOCKS}"},
        outcome=Outcome.NO_BUCKET_CACHE,
        sign=r"Allocating BlockCache size=.*",
    ),
    Fault(rule="WB104", site={ENGINE: f"ssd:{BLOCKS}"}, sign=r"Don't understand io engine name for cache.*"),
    Fault(rule="WB104", site={"hbase.bucketcache.size": "809GiB"}, sign=r"NumberFormatException.*"),
    Fault(rule="WB104", site={"hfile.block.cache.size": "9"}, sign=r"(IllegalArgument|Runtime)Exception.*"),
    Fault(rule="WB201", site={"hbase.bucketcache.size": "0.8"}, sign=r"IllegalArgumentException.*"),
    Fault(
        rule="WB202",
        site={"hbase.bucketcache.bucket.sizes": "65793,66048,495360"},
        sign=r"IllegalArgumentException: Illegal value: 65793.*",
    ),
    Fault(
        rule="WB203",
        # A small cache: so small buckets of a large one would fill the heap before anything else is seen.
        site={"hbase.bucketcache.bucket.sizes": "1024,2048", "hbase.bucketcache.size": "1024"},
        outcome=Outcome.CACHED_NOTHING,
        sign=r"Allocation too big.*",
        trigger=Trigger.WRITE,
    ),
    Fault(rule="WB204", site={"hbase.bucketcache.size": "20"}, sign=r"Bucket allocator size too small.*"),
    Fault(rule="WB206", site={"hbase.bucketcache.single.factor": "0.3"}, sign=r"IllegalArgumentException.*factor.*"),
    Fault(rule="WB207", site={"hbase.bucketcache.minfactor": "0.98"}, sign=r"IllegalArgumentException.*min[fF]actor.*"),
    Fault(
        rule="WB208",
        site={"hfile.block.cache.size": "0"},
        outcome=Outcome.NO_CACHE,
        sign=r"globalMemStoreLimit=.*",
    ),
    Fault(
        rule="WB209",
        site={"hfile.block.cache.size": "0.5", "hbase.regionserver.global.memstore.size": "0.4"},
        sign=r"Current heap configuration for MemStore and BlockCache exceeds.*",
    ),
    Fault(
        rule="WB210",
        site={ENGINE: "files:/warmbase/cache/one/blocks:/warmbase/cache/two/blocks"},
        sign=r"FileNotFoundException.*",
    ),
    Fault(
        rule="WB213",
        site={"hbase.bucketcache.size": "1500000"},
        outcome=Outcome.STARTED,
        sign=r"Only .* not enough for requested.*|Allocating cache 1\.43 TB.*",
    ),
    Fault(rule="WB224", site={"hbase.blockcache.minblocksize": "256"}, sign=r"IllegalArgumentException.*"),
    Fault(
        rule="WB225",
        site={"hbase.blockcache.use.external": "true"},
        outcome=Outcome.NO_BUCKET_CACHE,
        sign=r"Allocating BlockCache size=.*",
    ),
    Fault(
        rule="WB226",
        site={"hbase.lru.blockcache.single.percentage": "0.3"},
        sign=r"IllegalArgumentException.*factor.*",
    ),
    Fault(rule="WB227", site={"hbase.lru.blockcache.min.factor": "0.995"}, sign=r"IllegalArgumentException.*"),
    Fault(
        rule="WB302",
        site={ENGINE: "offheap", "hbase.bucketcache.size": "256"},
        outcome=Outcome.NO_INDEX,
        sign=r"Started bucket cache; ioengine=offheap.*",
        trigger=Trigger.STOP,
    ),
    Fault(rule="WB314", index=CUT_OFF_INDEX, sign=r"NullPointerException.*"),
    Fault(rule="WB314", index=EMPTY_INDEX, sign=r"NullPointerException.*"),
    Fault(rule="WB403", collector='"-XX:+UseZGC -XX:+UseG1GC"', sign=r"Multiple garbage collectors selected.*"),
    Fault(
        rule="WB313",
        group="primary",
        site={
            "hbase.master.wait.on.regionservers.mintostart": "11",
            "hbase.master.wait.on.regionservers.maxtostart": "5",
        },
        outcome=Outcome.IGNORED,
        sign=r"The value of 'hbase.master.wait.on.regionservers.maxtostart'.*ignoring.*",
    ),
    Fault(
        rule="WB316",
        group="primary",
        site={
            "hbase.master.wait.on.regionservers.mintostart": "99",
            "hbase.master.wait.on.regionservers.timeout": "2000",
        },
        outcome=Outcome.WAITED_ON,
        sign=r"Waiting on regionserver count=0; waited=(?!0ms).*",
    ),
)
"""All of them start from the same right files."""


def unproven_rules() -> tuple[str, ...]:
    """Return a sentence for each reason why no boot shows a rule, with the rules that give it."""
    rules = [rule for rule in RULES if rule.proof != BOOTED]
    reasons = dict.fromkeys(rule.proof for rule in rules)
    return tuple(
        f"Not shown by a boot ({reason}): {', '.join(rule.id for rule in rules if rule.proof == reason)}."
        for reason in reasons
    )


def faulty_launch(launch: Launch, fault: Fault) -> Launch:
    """Return the launch with that fault in the files of its group."""
    levels, faulty = launch.settings._asdict(), list[Classification]()
    for classification in levels[fault.group]:
        if classification.name == "hbase-site":
            both = {**classification.properties, **fault.site}
            properties = {key: value for key, value in both.items() if value is not None}
            classification = replace(classification, properties=properties)  # noqa: PLW2901 - the faulty one
        elif classification.name == "hbase-env" and fault.collector:
            flags = {"HBASE_REGIONSERVER_GC_OPTS": fault.collector}
            nested = tuple(
                replace(inner, properties={**inner.properties, **flags}) if inner.name == "export" else inner
                for inner in classification.nested
            )
            classification = replace(classification, nested=nested)  # noqa: PLW2901 - the faulty one
        faulty.append(classification)
    levels[fault.group] = tuple(faulty)
    return replace(launch, settings=Classifications(**levels))


TITLE: Final = "What lint refuses"
QUESTION: Final = "Does HBase fail or misbehave with files that lint refuses, as the rule says?"
TABLE: Final = TableSpec(name="blocks", families=(TableFamily(name="cf"),))
ROWS: Final = 1_000
BLOCK_BYTES: Final = 64 * KIB
FRESH_SECONDS: Final = 2.5
WAIT_SECONDS: Final = 8.0
LONGEST: Final = 300
ALLOCATES_L1: Final = "Allocating BlockCache"


def run(root: Path, say: Callable[[str], None]) -> ScenarioResult:
    """Boot each fault in otherwise correct files, on the HBase of their release."""
    environment = read_environment(VARIED)
    case = BootCase(name=environment.name, launch=launch_of(environment, environment.active))
    figures = []
    with daemons(case, root) as running:
        for fault in sorted(FAULTS, key=lambda candidate: candidate.group):
            say(fault.case)
            did = _did(running, case, fault)
            log = running.log("server-0" if fault.group == "core" else "master")
            line = decisive(log.replace(str(running.volume), node_files.CACHE), fault.sign)
            figures.append(
                Measurement(
                    case=fault.case,
                    name="HBase",
                    measured=did.value if line else f"{did}, but its log does not say why",
                    predicted=fault.outcome.value,
                    because=line or f"no line of its log has {fault.sign}",
                    target=SAME,
                )
            )
    return ScenarioResult(figures=tuple(figures), limits=unproven_rules())


def decisive(log: str, sign: str) -> str:
    """Return the first log line that matches the sign, from the match on; empty without one."""
    match = re.search(sign, log)
    return match[0].strip()[:LONGEST] if match else ""


def _did(running: Daemons, case: BootCase, fault: Fault) -> Outcome:
    """Boot the daemon of the fault, trigger the fault, and return what the daemon did."""
    launch, name = faulty_launch(case.launch, fault), "master" if fault.group == "primary" else "server-0"
    try:
        if fault.group == "core":
            running.start_server(launch, index=fault.index)
        else:
            running.master(launch)
    except OperationFailed:
        if running.is_alive(name):
            raise
        return Outcome.DID_NOT_START
    log = running.log(name)
    if fault.outcome is Outcome.WAITED_ON:
        # The master waits for RegionServers while there are none.
        time.sleep(WAIT_SECONDS)
        lines = MASTER_WAITS.finditer(running.log(name))
        beyond = any(int(line["waited"]) > int(line["timeout"]) for line in lines)
        return Outcome.WAITED_ON if beyond else Outcome.STARTED
    if fault.group == "primary":
        return Outcome.IGNORED if decisive(log, fault.sign) else Outcome.STARTED
    if ALLOCATES_L1 not in log:
        return Outcome.NO_CACHE
    if CACHE_STARTED.search(log) is None:
        return Outcome.NO_BUCKET_CACHE
    if fault.trigger is Trigger.WRITE:
        # The blocks of flushed rows should be cached as they are written; short blocks may fit all the same.
        running.wait("first store", lambda: CACHE_CONFIG.search(running.log()) is not None)
        running.admin.create(TABLE)
        running.admin.smoke(TABLE.name, TABLE.families[0].name, ROWS)
        time.sleep(FRESH_SECONDS)
        cached_bytes = running.cluster.answered().l2_bytes
        running.admin.drop(TABLE.name)
        return Outcome.STARTED if cached_bytes >= BLOCK_BYTES else Outcome.CACHED_NOTHING
    if fault.trigger is Trigger.STOP:
        running.cluster.stop_server()
        return Outcome.STARTED if running.index_file.exists() else Outcome.NO_INDEX
    return Outcome.STARTED
