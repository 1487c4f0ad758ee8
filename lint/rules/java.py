"""WB4..: the Java of the RegionServer: a collector that its JDK has, a heap stated once that fits the node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from configurations.properties.property import Span
from lint.finding import Severity
from lint.jvm_options import EXPORT, is_all_gap, java_version, jvm_options, size_mib
from lint.node import LintedNode
from lint.rule import Rule, Violation
from lint.rules.blocks import cached_blocks
from lint.rules.volumes import instance_of
from lint.shell_value import shell_word_count, without_quotes
from sizing.heap import index_bytes_per_block
from sizing.units import GIB, MIB

__all__ = ["JAVA"]

GENERATIONAL: Final = "+ZGenerational"
GENERATIONAL_FROM: Final = 21
COMPRESSED_POINTERS_MIB: Final = 32 * 1024
FREE: Final = 0.2
NEARLY: Final = 0.02  # of the heap: slots and blocks are estimates here
OPTIONS: Final = "HBASE_REGIONSERVER_OPTS"
CONFIGURE: Final = "EMR Release Guide, emr-hbase-configure"


def _generational_without_jdk(node: LintedNode) -> Iterator[Violation]:
    flag, java = jvm_options(node).with_flag(GENERATIONAL), java_version(node)
    if flag is None or java is None or java >= GENERATIONAL_FROM:
        return
    stated = "stated" if node.setting("JAVA_HOME", EXPORT) else "the release's own, for no JAVA_HOME is stated"
    yield Violation(at=flag, message=f"Java {java} ({stated}) has no generational ZGC")


def _undocumented_zgc(node: LintedNode) -> Iterator[Violation]:
    uses = [setting for name, setting in jvm_options(node).collectors if name == "UseZGC"]
    if uses:
        label = node.release.label if node.release else ""
        yield Violation(at=uses[0], message=f"{label} documents neither ZGC nor Java 21 for HBase")


def _two_collectors(node: LintedNode) -> Iterator[Violation]:
    found = jvm_options(node).collectors
    if len(found) > 1:
        names = ", ".join(name for name, _ in found)
        yield Violation(at=found[-1][1], message=f"the JVM is given {len(found)} collectors: {names}")


def _overwrites(node: LintedNode) -> Iterator[Violation]:
    setting = node.setting(OPTIONS, EXPORT)
    if setting and not is_all_gap(setting) and not re.search(r"\$\{?HBASE_REGIONSERVER_OPTS", setting.value):
        yield Violation(
            at=setting,
            message="what others put into the variable is gone: exporters, agents, EMR's own options",
            fix=_appended(setting.value),
        )


def _appended(value: str) -> str:
    plain = without_quotes(value)
    begin = f"begin the value with ${OPTIONS}"
    return begin if plain is None else f'{begin}: "${OPTIONS} {plain}"'


def _heap_twice(node: LintedNode) -> Iterator[Violation]:
    heap, options = node.setting("HBASE_HEAPSIZE", EXPORT), node.setting(OPTIONS, EXPORT)
    if heap is None or options is None or "-Xmx" not in options.value:
        return
    stated, xmx = size_mib(heap.value, plain_is_mib=True), jvm_options(node).xmx_mib
    if heap.is_placeholder or stated is None or xmx is None:
        yield Violation(at=heap, message="the heap of a RegionServer is stated here and by -Xmx; the last one counts")
    elif stated != xmx:
        yield Violation(at=heap, message=f"{stated:,.0f} MiB here and {xmx:,.0f} MiB by -Xmx; the last one counts")


def _unquoted(node: LintedNode) -> Iterator[Violation]:
    for (path, _), setting in node.settings.items():
        value = setting.value.strip()
        words = shell_word_count(value) if path == EXPORT else 1
        if value and words != 1:
            plain = without_quotes(value)
            yield Violation(
                at=setting,
                message=f"{setting.key} has blanks and no quotes of its own"
                if words
                else f"{setting.key} opens a quote that nothing closes",
                fix=None if plain is None else f'write \\"{plain}\\"',
            )


def _used_verbatim(node: LintedNode) -> Iterator[Violation]:
    for (path, _), setting in node.settings.items():
        if path == EXPORT and re.search(r"'[^']*\$[A-Za-z_{][^']*'", setting.value):
            yield Violation(at=setting, message="between single quotes the shell puts nothing in for a variable")


def _growing_heap(node: LintedNode) -> Iterator[Violation]:
    options = jvm_options(node)
    zgc = next((setting for name, setting in options.collectors if name == "UseZGC"), None)
    fixed = node.text("hbase.regionserver.fixed.heap.enabled", "hbase") == "true"
    if zgc and not fixed and (options.xms_mib is None or options.xms_mib != options.xmx_mib):
        yield Violation(at=zgc, message="the heap may shrink, and grows again when the cache index wants it")


def _heap_beyond_memory(node: LintedNode) -> Iterator[Violation]:
    instance, options = instance_of(node), jvm_options(node)
    if instance is None or options.xmx_mib is None:
        return
    yarn_mib = node.number("yarn.nodemanager.resource.memory-mb", 0, "yarn-site") or 0
    taken_gib = (options.xmx_mib + (options.direct_mib or 0) + yarn_mib) * MIB / GIB
    memory_gib = instance.memory_bytes / GIB
    if taken_gib > memory_gib:
        yield Violation(
            at=options.with_flag("-Xmx"),
            message=f"heap, direct memory and YARN take {taken_gib:,.1f} GiB of {memory_gib:,.0f} on {instance.name}",
        )


def _index_bytes(node: LintedNode) -> float | None:
    blocks, options = cached_blocks(node), jvm_options(node)
    if blocks is None:
        return None
    zgc = any(name == "UseZGC" for name, _ in options.collectors)
    return blocks * index_bytes_per_block("zgc" if zgc else "g1")


def _index_fills_heap(node: LintedNode) -> Iterator[Violation]:
    index, options = _index_bytes(node), jvm_options(node)
    l1 = node.number("hfile.block.cache.size", 0.4)
    memstore = node.number("hbase.regionserver.global.memstore.size", 0.4)
    if index is None or options.xmx_mib is None or l1 is None or memstore is None:
        return
    heap_bytes = options.xmx_mib * MIB
    taken = l1 + memstore + index / heap_bytes
    if taken > 1 - FREE + NEARLY:
        yield Violation(
            at=options.with_flag("-Xmx"),
            message=f"L1 {l1:.0%}, memstore {memstore:.0%} and the cache's index, {index / GIB:,.1f} GiB (estimate), "
            f"take {taken:.0%} of {heap_bytes / GIB:,.1f} GiB of heap",
        )


def _no_compressed_pointers(node: LintedNode) -> Iterator[Violation]:
    options = jvm_options(node)
    g1 = any(name == "UseG1GC" for name, _ in options.collectors) or not options.collectors
    if g1 and options.xmx_mib is not None and options.xmx_mib >= COMPRESSED_POINTERS_MIB:
        yield Violation(
            at=options.with_flag("-Xmx"),
            message=f"{options.xmx_mib / 1024:,.0f} GiB of heap have no compressed pointers",
        )


def _dump_anywhere(node: LintedNode) -> Iterator[Violation]:
    options = jvm_options(node)
    dumps = options.with_flag("+HeapDumpOnOutOfMemoryError")
    if dumps and "HeapDumpPath" not in "".join(setting.value for setting in options.settings):
        yield Violation(at=dumps, message="the dump, as large as the heap, goes to the working directory")


def _heap_not_stated(node: LintedNode) -> Iterator[Violation]:
    heap, options = node.unstated("HBASE_HEAPSIZE", EXPORT), node.setting(OPTIONS, EXPORT)
    stated = options is not None and ("-Xmx" in options.value or is_all_gap(options))
    if node.caches and heap and not stated:
        yield Violation(classification=EXPORT, property=OPTIONS, message="nothing states the heap of a RegionServer")


JAVA: Final = (
    Rule(
        id="WB401",
        severity=Severity.ERROR,
        what="generational ZGC on a JDK without it",
        check=_generational_without_jdk,
        because="the JVM stops: Unrecognized VM option 'ZGenerational'; it came with JDK 21",
        fix="state JAVA_HOME=/usr/lib/jvm/jre-21, from emr-7.10.0 on, or use -XX:+UseG1GC",
        source=f"{CONFIGURE}; JDK 21",
        of_hbase_1=True,
    ),
    Rule(
        id="WB402",
        severity=Severity.WARNING,
        what="ZGC where EMR does not document it",
        check=_undocumented_zgc,
        because="HBase's page has it with Java 21 from 7.10 on",
        fix="use emr-7.10.0 or later, or G1",
        source=CONFIGURE,
        emr=Span(until=(7, 10, 0)),
        of_hbase_1=True,
    ),
    Rule(
        id="WB403",
        severity=Severity.ERROR,
        what="two garbage collectors",
        check=_two_collectors,
        because="the JVM stops: Multiple garbage collectors selected",
        fix="keep one, in HBASE_REGIONSERVER_GC_OPTS",
        source="tried with JDK 17 and 21",
        of_hbase_1=True,
    ),
    Rule(
        id="WB404",
        severity=Severity.WARNING,
        what="HBASE_REGIONSERVER_OPTS that overwrite those of others",
        check=_overwrites,
        because="hbase-env.sh takes the last assignment",
        fix="append to $HBASE_REGIONSERVER_OPTS",
        source="Amazon EMR best practices",
        of_hbase_1=True,
    ),
    Rule(
        id="WB405",
        severity=Severity.WARNING,
        what="a heap stated by HBASE_HEAPSIZE and by -Xmx",
        check=_heap_twice,
        because="whoever changes one of them changes nothing",
        fix="keep -Xmx in HBASE_REGIONSERVER_OPTS alone",
        source="HBase 2.6.2 bin/hbase",
        of_hbase_1=True,
    ),
    Rule(
        id="WB406",
        severity=Severity.ERROR,
        what="options that are not one word of the shell",
        check=_unquoted,
        roles=("primary", "core"),
        because="the value becomes a line of a shell script: the first blank ends it",
        fix="put quotes around the whole value, into it, and a backslash before each quote within them",
        source=CONFIGURE,
        of_hbase_1=True,
    ),
    Rule(
        id="WB407",
        severity=Severity.WARNING,
        what="ZGC on a heap that shrinks",
        check=_growing_heap,
        because="ZGC works better when memory is not given back",
        fix="state hbase.regionserver.fixed.heap.enabled=true in classification hbase",
        source=CONFIGURE,
    ),
    Rule(
        id="WB408",
        severity=Severity.ERROR,
        what="a heap larger than the node",
        check=_heap_beyond_memory,
        because="the kernel ends the RegionServer when memory runs out, and the page cache is gone before that",
        fix="lower the heap or YARN, or take a larger instance",
        source="EC2 instance types",
        of_hbase_1=True,
    ),
    Rule(
        id="WB409",
        severity=Severity.WARNING,
        what="a heap that the cache's index fills",
        check=_index_fills_heap,
        because="each cached block takes 445 to 540 bytes of heap after a restart, which HBase's own check leaves out",
        fix="raise -Xmx, or lower hfile.block.cache.size and the memstore",
        source="measured with HBase 2.6.2",
    ),
    Rule(
        id="WB410",
        severity=Severity.INFO,
        what="a heap beyond compressed pointers",
        check=_no_compressed_pointers,
        because="from 32 GiB on every reference takes 8 bytes: the index of the cache grows by a quarter",
        fix="stay below 32 GiB where that is enough",
        source="measured with HBase 2.6.2",
    ),
    Rule(
        id="WB411",
        severity=Severity.WARNING,
        what="a heap dump without a place",
        check=_dump_anywhere,
        because="it fills the root volume of 15 GiB",
        fix="state -XX:HeapDumpPath on a volume with room for the heap",
        source="EMR Management Guide, emr-plan-storage",
        of_hbase_1=True,
    ),
    Rule(
        id="WB412",
        severity=Severity.WARNING,
        what="a heap left to EMR",
        check=_heap_not_stated,
        because="what EMR gives a RegionServer is documented for no instance type, and the cache's index needs room",
        fix="state -Xms and -Xmx in HBASE_REGIONSERVER_OPTS",
        source="EMR Release Guide, emr-hadoop-task-config",
    ),
    Rule(
        id="WB413",
        severity=Severity.ERROR,
        what="a variable between single quotes",
        check=_used_verbatim,
        roles=("primary", "core"),
        because="the daemon gets its name in place of its value, and Java takes that for the main class",
        fix="use double quotes",
        source="bash",
        of_hbase_1=True,
    ),
)
