"""Faults in configuration files, each with the rule that reports it and the outcome of booting HBase with it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from configurations.launch import Launch
from emr.classification import Classification, Classifications
from lint.rule import BOOTED, Rule
from lint.rules import RULES


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
        written += [f"an index of {_announced(self.index)} chunks, and none there"] if self.index is not None else []
        return f"{self.rule} {self._rule.title}: {', '.join(written)}"

    @property
    def _rule(self) -> Rule:
        return next(rule for rule in RULES if rule.id == self.rule)


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
    Fault(
        rule="WB104",
        site={ENGINE: f"ssd:{BLOCKS}"},
        sign=r"Don't understand io engine name for cache.*",
    ),
    Fault(
        rule="WB104",
        site={"hbase.bucketcache.size": "809GiB"},
        sign=r"NumberFormatException.*",
    ),
    Fault(
        rule="WB104",
        site={"hfile.block.cache.size": "9"},
        sign=r"(IllegalArgument|Runtime)Exception.*",
    ),
    Fault(
        rule="WB201",
        site={"hbase.bucketcache.size": "0.8"},
        sign=r"IllegalArgumentException.*",
    ),
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
    Fault(
        rule="WB204",
        site={"hbase.bucketcache.size": "20"},
        sign=r"Bucket allocator size too small.*",
    ),
    Fault(
        rule="WB206",
        site={"hbase.bucketcache.single.factor": "0.3"},
        sign=r"IllegalArgumentException.*factor.*",
    ),
    Fault(
        rule="WB207",
        site={"hbase.bucketcache.minfactor": "0.98"},
        sign=r"IllegalArgumentException.*min[fF]actor.*",
    ),
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
    Fault(
        rule="WB224",
        site={"hbase.blockcache.minblocksize": "256"},
        sign=r"IllegalArgumentException.*",
    ),
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
    Fault(
        rule="WB227",
        site={"hbase.lru.blockcache.min.factor": "0.995"},
        sign=r"IllegalArgumentException.*",
    ),
    Fault(
        rule="WB302",
        site={ENGINE: "offheap", "hbase.bucketcache.size": "256"},
        outcome=Outcome.NO_INDEX,
        sign=r"Started bucket cache; ioengine=offheap.*",
        trigger=Trigger.STOP,
    ),
    Fault(
        rule="WB314",
        index=CUT_OFF_INDEX,
        sign=r"NullPointerException.*",
    ),
    Fault(
        rule="WB314",
        index=EMPTY_INDEX,
        sign=r"NullPointerException.*",
    ),
    Fault(
        rule="WB403",
        collector='"-XX:+UseZGC -XX:+UseG1GC"',
        sign=r"Multiple garbage collectors selected.*",
    ),
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
    levels = launch.settings._asdict()
    levels[fault.group] = tuple(_faulty(level, fault) for level in levels[fault.group])
    return replace(launch, settings=Classifications(**levels))


def _announced(index: bytes) -> int:
    return int(HEADER.unpack(index)[2])


def _faulty(classification: Classification, fault: Fault) -> Classification:
    if classification.name == "hbase-site":
        return replace(classification, properties=_laid_over(classification.properties, fault.site))
    if classification.name == "hbase-env" and fault.collector:
        flags = {"HBASE_REGIONSERVER_GC_OPTS": fault.collector}
        return replace(classification, nested=tuple(_exported(classification.nested, flags)))
    return classification


def _laid_over(properties: Mapping[str, str], fault: Mapping[str, str | None]) -> dict[str, str]:
    both = {**properties, **fault}
    return {key: value for key, value in both.items() if value is not None}


def _exported(nested: Iterable[Classification], variables: Mapping[str, str]) -> Iterable[Classification]:
    return (
        replace(inner, properties={**inner.properties, **variables}) if inner.name == "export" else inner
        for inner in nested
    )
