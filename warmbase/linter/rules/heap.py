"""The heap of a RegionServer, and the memory of its node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.ground.units import GIB, MIB
from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import EXPORT, LintedNode, instance_of, is_all_placeholder, jvm_options, size_mib
from warmbase.linter.rule import Rule, Violation
from warmbase.sizing.server.memory import index_bytes_per_block

COMPRESSED_POINTERS_MIB: Final = 32 * 1024
FREE_HEAP_FRACTION: Final = 0.2
ESTIMATE_TOLERANCE_FRACTION: Final = 0.02  # of the heap: slots and blocks are estimates here
OPTIONS: Final = "HBASE_REGIONSERVER_OPTS"
CONFIGURE: Final = "EMR Release Guide, emr-hbase-configure"


@Rule(
    id="WB405",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="heap set by both HBASE_HEAPSIZE and -Xmx",
    because="a change to one of them may have no effect",
    fix="keep only -Xmx, in HBASE_REGIONSERVER_OPTS",
    source="HBase 2.6.2 bin/hbase",
    proof="EMR's own shell scripts read these options",
    of_hbase_1=True,
)
def _heap_twice(node: LintedNode) -> Iterator[Violation]:
    heap, options = node.setting("HBASE_HEAPSIZE", EXPORT), node.setting(OPTIONS, EXPORT)
    if heap is None or options is None or "-Xmx" not in options.value:
        return
    heap_mib, xmx_mib = size_mib(heap.value, plain_is_mib=True), jvm_options(node).xmx_mib
    if heap.is_placeholder or heap_mib is None or xmx_mib is None:
        yield Violation(heap, "the heap is set both here and by -Xmx; the last one counts")
    elif heap_mib != xmx_mib:
        yield Violation(
            heap, f"the heap is {heap_mib:,.0f} MiB here and {xmx_mib:,.0f} MiB by -Xmx; the last one counts"
        )


@Rule(
    id="WB407",
    severity=Severity.WARNING,
    title="ZGC on a heap that can shrink",
    because="ZGC works better when the JVM does not give memory back",
    fix="set hbase.regionserver.fixed.heap.enabled=true in the classification hbase",
    source=CONFIGURE,
    proof="EMR's own shell scripts read these options",
)
def _growing_heap(node: LintedNode) -> Iterator[Violation]:
    options = jvm_options(node)
    zgc = next((setting for name, setting in options.collectors if name == "UseZGC"), None)
    fixed = node.text("hbase.regionserver.fixed.heap.enabled", "hbase") == "true"
    if zgc and not fixed and (options.xms_mib is None or options.xms_mib != options.xmx_mib):
        yield Violation(zgc, "the heap can shrink, and has to grow again for the index of the cache")


@Rule(
    id="WB408",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="heap larger than the node",
    because="when memory runs out the kernel kills the RegionServer; before that, nothing is left for the page cache",
    fix="lower the heap or YARN's memory, or use a larger instance",
    source="EC2 instance types",
    proof="it depends on the memory of a real node",
    of_hbase_1=True,
)
def _heap_beyond_memory(node: LintedNode) -> Iterator[Violation]:
    instance, options = instance_of(node), jvm_options(node)
    if instance is None or options.xmx_mib is None:
        return
    yarn_mib = node.number("yarn.nodemanager.resource.memory-mb", 0, "yarn-site") or 0
    used_gib = (options.xmx_mib + (options.direct_mib or 0) + yarn_mib) * MIB / GIB
    memory_gib = instance.memory_bytes / GIB
    if used_gib > memory_gib:
        yield Violation(
            options.with_flag("-Xmx") or "",
            f"heap, direct memory and YARN take {used_gib:,.1f} GiB of {memory_gib:,.0f} on {instance.name}",
        )


def _index_bytes(node: LintedNode) -> float | None:
    blocks, options = node.cached_blocks, jvm_options(node)
    if blocks is None:
        return None
    zgc = any(name == "UseZGC" for name, _ in options.collectors)
    return blocks * index_bytes_per_block("zgc" if zgc else "g1")


@Rule(
    id="WB409",
    severity=Severity.WARNING,
    title="heap that the index of the cache fills",
    because="each cached block takes 445 to 540 bytes of heap after a restart, which HBase's own check does not count",
    fix="raise -Xmx, or lower hfile.block.cache.size and the memstore",
    source="measured with HBase 2.6.2",
    proof="it depends on the memory of a real node",
)
def _index_fills_heap(node: LintedNode) -> Iterator[Violation]:
    index, options = _index_bytes(node), jvm_options(node)
    l1 = node.number("hfile.block.cache.size", 0.4)
    memstore = node.number("hbase.regionserver.global.memstore.size", 0.4)
    if index is None or options.xmx_mib is None or l1 is None or memstore is None:
        return
    heap_bytes = options.xmx_mib * MIB
    share = l1 + memstore + index / heap_bytes
    if share > 1 - FREE_HEAP_FRACTION + ESTIMATE_TOLERANCE_FRACTION:
        yield Violation(
            options.with_flag("-Xmx") or "",
            f"L1 {l1:.0%}, memstore {memstore:.0%} and the cache's index, {index / GIB:,.1f} GiB (estimate), "
            f"take {share:.0%} of {heap_bytes / GIB:,.1f} GiB of heap",
        )


@Rule(
    id="WB410",
    severity=Severity.INFO,
    title="heap too large for compressed pointers",
    because="from 32 GiB on each reference takes 8 bytes, which makes the index of the cache a quarter larger",
    fix="stay below 32 GiB if that is enough",
    source="measured with HBase 2.6.2",
    proof="it depends on the memory of a real node",
)
def _no_compressed_pointers(node: LintedNode) -> Iterator[Violation]:
    options = jvm_options(node)
    g1 = any(name == "UseG1GC" for name, _ in options.collectors) or not options.collectors
    if g1 and options.xmx_mib is not None and options.xmx_mib >= COMPRESSED_POINTERS_MIB:
        yield Violation(
            options.with_flag("-Xmx") or "",
            f"{options.xmx_mib / 1024:,.0f} GiB of heap is too large for compressed pointers",
        )


@Rule(
    id="WB411",
    severity=Severity.WARNING,
    title="heap dump without -XX:HeapDumpPath",
    because="the dump fills the root volume, which has 15 GiB",
    fix="set -XX:HeapDumpPath to a volume with room for the heap",
    source="EMR Management Guide, emr-plan-storage",
    proof="it depends on the memory of a real node",
    of_hbase_1=True,
)
def _dump_anywhere(node: LintedNode) -> Iterator[Violation]:
    options = jvm_options(node)
    dumps = options.with_flag("+HeapDumpOnOutOfMemoryError")
    if dumps and "HeapDumpPath" not in "".join(setting.value for setting in options.settings):
        yield Violation(dumps, "a heap dump, as large as the heap, goes to the working directory")


@Rule(
    id="WB412",
    severity=Severity.WARNING,
    title="heap left to EMR's default",
    because="EMR documents the RegionServer's heap for no instance type, and the index of the cache needs heap",
    fix="set -Xms and -Xmx in HBASE_REGIONSERVER_OPTS",
    source="EMR Release Guide, emr-hadoop-task-config",
    proof="it depends on the memory of a real node",
)
def _missing_heap(node: LintedNode) -> Iterator[Violation]:
    heap, options = node.unstated("HBASE_HEAPSIZE", EXPORT), node.setting(OPTIONS, EXPORT)
    sized = options is not None and ("-Xmx" in options.value or is_all_placeholder(options))
    if node.caches and heap and not sized:
        yield Violation(OPTIONS, "the heap of the RegionServer is not set", classification=EXPORT)
