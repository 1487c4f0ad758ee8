"""The JVM of a RegionServer, with its collector, options and heap, and the memory of the node."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from warmbase.configurations.node_files import assigned
from warmbase.configurations.properties.property import Span
from warmbase.emr.cluster_spec import PLACEHOLDER
from warmbase.ground.units import GIB, MIB
from warmbase.linter.finding import Consequence, Severity, new_value
from warmbase.linter.node import (
    EXPORT,
    LintedNode,
    instance_of,
    is_all_placeholder,
    java_version,
    jvm_options,
    size_mib,
)
from warmbase.linter.rule import BOOTED, Rule, Violation
from warmbase.sizing.server.memory import index_bytes_per_block

GENERATIONAL: Final = "+ZGenerational"
GENERATIONAL_FROM: Final = 21
OPTIONS: Final = "HBASE_REGIONSERVER_OPTS"
CONFIGURE: Final = "EMR Release Guide, emr-hbase-configure"
SUBSTITUTED: Final = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}")
"""A command substitution or a variable counts as one word of an assignment, even where its text has blanks."""


@Rule(
    id="WB401",
    severity=Severity.ERROR,
    title="generational ZGC on a JDK without it",
    because="the JVM stops with Unrecognized VM option 'ZGenerational', which JDK 21 introduced",
    fix="set JAVA_HOME=/usr/lib/jvm/jre-21 (emr-7.10.0 or later), or use -XX:+UseG1GC",
    source=f"{CONFIGURE}; JDK 21",
    proof="the lab does not vary the JDK",
    of_hbase_1=True,
)
def _generational_without_jdk(node: LintedNode) -> Iterator[Violation]:
    flag, java = jvm_options(node).with_flag(GENERATIONAL), java_version(node)
    if flag is None or java is None or java >= GENERATIONAL_FROM:
        return
    origin = "from JAVA_HOME" if node.setting("JAVA_HOME", EXPORT) else "the release's default"
    yield Violation(flag, f"the JVM does not start: Java {java} ({origin}) has no generational ZGC")


@Rule(
    id="WB402",
    severity=Severity.WARNING,
    title="ZGC on a release for which EMR does not document it",
    because="EMR documents ZGC with Java 21 for HBase from 7.10 on",
    fix="use emr-7.10.0 or later, or G1",
    source=CONFIGURE,
    proof="the lab does not vary the JDK",
    emr=Span(until=(7, 10, 0)),
    of_hbase_1=True,
)
def _undocumented_zgc(node: LintedNode) -> Iterator[Violation]:
    uses = [setting for name, setting in jvm_options(node).collectors if name == "UseZGC"]
    if uses:
        label = node.release.label if node.release else ""
        yield Violation(uses[0], f"{label} does not document ZGC or Java 21 for HBase")


@Rule(
    id="WB403",
    severity=Severity.ERROR,
    title="more than one garbage collector",
    because="the JVM stops with Multiple garbage collectors selected",
    fix="keep one, in HBASE_REGIONSERVER_GC_OPTS",
    source="tried with JDK 17 and 21",
    proof=BOOTED,
    of_hbase_1=True,
)
def _two_collectors(node: LintedNode) -> Iterator[Violation]:
    collectors = jvm_options(node).collectors
    if len(collectors) > 1:
        names = ", ".join(name for name, _ in collectors)
        yield Violation(collectors[-1][1], f"the JVM does not start with {len(collectors)} collectors: {names}")


@Rule(
    id="WB404",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="HBASE_REGIONSERVER_OPTS that replaces existing options",
    because="hbase-env.sh keeps only the last assignment",
    fix="append to $HBASE_REGIONSERVER_OPTS",
    source="Amazon EMR best practices",
    proof="EMR's own shell scripts read these options",
    of_hbase_1=True,
)
def _overwrites(node: LintedNode) -> Iterator[Violation]:
    setting = node.setting(OPTIONS, EXPORT)
    if setting and not is_all_placeholder(setting) and not re.search(r"\$\{?HBASE_REGIONSERVER_OPTS", setting.value):
        plain = _without_quotes(setting.value)
        fix = f"start the value with ${OPTIONS}"
        yield Violation(
            setting,
            "this drops the options that exporters, agents and EMR put into the variable",
            fix=fix if plain is None else f'{fix}: "${OPTIONS} {plain}"',
        )


@Rule(
    id="WB406",
    severity=Severity.ERROR,
    title="unquoted value with blanks, or an unclosed quote",
    because="EMR writes the value into a shell script, where the first blank ends it",
    fix="quote the whole value, and put a backslash before each quote inside it",
    source=CONFIGURE,
    proof="EMR's own shell scripts read these options",
    roles=("primary", "core"),
    of_hbase_1=True,
)
def _unquoted(node: LintedNode) -> Iterator[Violation]:
    for (path, _), setting in node.settings.items():
        value = setting.value.strip()
        words = _shell_word_count(value) if path == EXPORT else 1
        if value and words != 1:
            plain = _without_quotes(value)
            yield Violation(
                setting,
                f"{setting.key} has blanks and is not quoted inside the value"
                if words
                else f"{setting.key} has a quote that is never closed",
                fix=None if plain is None else f'write \\"{plain}\\"',
                edit=new_value(f'"{plain}"') if plain is not None and words else None,
            )


@Rule(
    id="WB413",
    severity=Severity.ERROR,
    title="variable inside single quotes",
    because="the daemon receives the variable's name instead of its value, and Java takes that for the main class",
    fix="use double quotes",
    source="bash",
    proof="EMR's own shell scripts read these options",
    roles=("primary", "core"),
    of_hbase_1=True,
)
def _used_verbatim(node: LintedNode) -> Iterator[Violation]:
    for (path, _), setting in node.settings.items():
        if path == EXPORT and re.search(r"'(?>(?:[^'$]|\$(?![A-Za-z_{]))*)\$[^']*+'", setting.value):
            yield Violation(setting, "the shell does not expand variables inside single quotes")


@Rule(
    id="WB421",
    severity=Severity.ERROR,
    title="JVM option with a blank",
    because="HBase's start script expands the variable without quotes, so the blank ends the option, and the JVM does"
    " not start with the rest of it",
    fix="write the option without a blank",
    source="HBase bin/hbase, the line that starts Java",
    proof="tried with JDK 17",
    roles=("primary", "core"),
    of_hbase_1=True,
)
def _option_with_blank(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        # Another rule reports a value whose quotes are wrong.
        if path != EXPORT or not key.endswith("_OPTS") or _shell_word_count(setting.value) != 1:
            continue
        text = assigned(SUBSTITUTED.sub("$x", PLACEHOLDER.sub("$x", setting.value)))
        try:
            held_together = [word for word in shlex.split(text) if re.search(r"\s", word)]
        except ValueError:  # an apostrophe that is part of an option
            held_together = []
        words = text.split()
        bare = [
            word
            for before, word in zip(["", *words], words, strict=False)
            if not word.startswith(("-", "$", "`", "@")) and not before.startswith(("--", "-cp", "-classpath"))
        ]
        if held_together:
            option = held_together[0]
            yield Violation(
                setting,
                f"the JVM does not start: HBase splits {option} at its blank, and quotes do not help",
                fix="remove it: HBase kills a JVM that runs out of memory" if "OnOutOfMemoryError" in option else None,
            )
        elif bare:
            yield Violation(setting, f"the JVM does not start: it takes {bare[0]} for the name of its main class")


def _shell_word_count(value: str) -> int:
    """How many words a shell sees; a gap is one letter. 0 for a quote that is never closed."""
    try:
        return len(shlex.split(SUBSTITUTED.sub("x", PLACEHOLDER.sub("x", value))))
    except ValueError:
        return 0


def _without_quotes(value: str) -> str | None:
    """The value as it goes between double quotes; None where quotes or backslashes in it mean something."""
    stripped = value.strip()
    for quote in ('"', "'"):
        if stripped.startswith(quote) and stripped.endswith(quote) and stripped.count(quote) == 2:  # noqa: PLR2004
            stripped = stripped[1:-1].strip()
    plain = stripped if re.search(r"[\"'\\\\`]", stripped) is None else None
    return plain or None


COMPRESSED_POINTERS_MIB: Final = 32 * 1024
FREE_HEAP_FRACTION: Final = 0.2
ESTIMATE_TOLERANCE_FRACTION: Final = 0.02  # of the heap: slots and blocks are estimates here


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
