"""The Java of HBase's daemons: its version, garbage collector, flags and heap, as variables that EMR exports.

One variable names the collector and another one states the heap. No other variable sets either.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations import node_files
from warmbase.configurations.properties.property import (
    BEST_PRACTICES,
    BOTH,
    CORE,
    EMR_HBASE_CONFIGURE,
    HBASE_262,
    PRIMARY,
    RECIPE,
    AnyText,
    HBaseProperty,
    Matching,
    Whole,
)
from warmbase.ground.units import MIB
from warmbase.sizing.plan import Plan
from warmbase.sizing.server.system_volume import HEAP_DUMP_GIB, heap_dump_bytes

GC_LOG_FILES: Final = 10
GC_LOG_MIB: Final = 64


COLLECTOR_FLAGS: Final = {"zgc": ("-XX:+UseZGC", "-XX:+ZGenerational"), "g1": ("-XX:+UseG1GC",)}
"""EMR documents ZGC with Java 21 (emr-hbase-configure); `ZGenerational` is a flag of JDK 21 to 23."""


def collector_flags(plan: Plan) -> str:
    """Return the flags for one collector, for touching memory at start, and for a log that rotates."""
    log = f"-Xlog:gc,gc+init,safepoint:file={node_files.GC_LOG}:time,uptime,level,tags"
    rotation = f"filecount={GC_LOG_FILES},filesize={GC_LOG_MIB}m"
    return " ".join((*COLLECTOR_FLAGS[plan.heap.collector], "-XX:+AlwaysPreTouch", f"{log}:{rotation}"))


def memory_flags(plan: Plan) -> str:
    """Return the flags for heap and direct memory, and for a heap dump where the system volume has room.

    Raises ValueError for direct memory that is not whole MiB.
    """
    direct_mib, rest = divmod(plan.memory.parts["direct"], MIB)
    if rest:
        raise ValueError(f"{plan.memory.parts['direct']} bytes are not whole MiB, and a property is never rounded")
    flags = [f"-Xms{plan.heap.xmx_mib}m", f"-Xmx{plan.heap.xmx_mib}m", f"-XX:MaxDirectMemorySize={direct_mib}m"]
    if plan.heap.xmx_bytes <= heap_dump_bytes(plan.core.volume("system").size_gib):
        flags += ["-XX:+HeapDumpOnOutOfMemoryError", f"-XX:HeapDumpPath={node_files.HEAP_DUMP}"]
    return " ".join(flags)


OPTIONS: Final = AnyText(described="JVM options, the whole of them in quotes that are part of the value")
HEAP: Final = Matching(form=r'"?\d+[kmgKMG]?"?', described="a size such as 4096m", unit="MiB, with its suffix")
PRIMARY_HEAP_MIB: Final = 4_096  # judgement: see the property's reason
_export = partial(HBaseProperty, classification="hbase-env/export", groups=CORE)

JAVA: Final = (
    _export(
        "JAVA_HOME",
        Matching(form=r'"?/.+"?', described="a whole path"),
        "the Java that accepts the rendered collector flags",
        value=lambda context: context.release.java_home,
        groups=BOTH,
        source=EMR_HBASE_CONFIGURE,
    ),
    _export(
        "HBASE_HEAPSIZE",
        HEAP,
        f"the heap of the daemons on a primary node: {PRIMARY_HEAP_MIB:,} MiB, half of the smallest node "
        "listed, because a master holds regions and assignments but no blocks. A RegionServer's heap is in "
        "HBASE_REGIONSERVER_OPTS",
        value=f"{PRIMARY_HEAP_MIB}m",
        groups=PRIMARY,
        source=RECIPE,
    ),
    _export(
        "HBASE_OFFHEAPSIZE",
        HEAP,
        "the direct memory of every daemon; a RegionServer's is in HBASE_REGIONSERVER_OPTS",
        source=BEST_PRACTICES,
    ),
    _export(
        "HBASE_REGIONSERVER_OPTS",
        OPTIONS,
        "heap and direct memory, stated in one place; appended, because agents and exporters use the same "
        f"variable. A heap of at most {HEAP_DUMP_GIB} GiB is dumped to the system volume, which has that much room "
        "beside the write-ahead log; a larger one is not dumped",
        value=lambda context: f'"$HBASE_REGIONSERVER_OPTS {memory_flags(context.plan)}"',
        figure="heap.xmx_mib",
        conversion="-Xms and -Xmx with the suffix m; direct memory is memory.parts.direct, bytes / 1,048,576",
        source=BEST_PRACTICES,
    ),
    _export(
        "HBASE_REGIONSERVER_GC_OPTS",
        OPTIONS,
        "one collector, stated in one place; memory is touched at start, so that no read pays for it; the "
        f"collector's log rotates over {GC_LOG_FILES} files of {GC_LOG_MIB} MiB",
        value=lambda context: f'"{collector_flags(context.plan)}"',
        source=EMR_HBASE_CONFIGURE,
    ),
    _export(
        "HBASE_STOP_TIMEOUT",
        Whole(unit="s", least=1, most=86_400),
        "a RegionServer writes the index of its cache before it closes regions; hbase-daemon.sh kills it after "
        "this time, and the cache is lost. systemd's own limit, in the drop-in of the unit, is a minute longer",
        figure="persistence.stop_timeout_seconds",
        source=HBASE_262,
    ),
    _export("HBASE_MASTER_OPTS", OPTIONS, "options of the master", groups=PRIMARY, source=BEST_PRACTICES),
    _export("HBASE_OPTS", OPTIONS, "options of every daemon and command", groups=BOTH, source=BEST_PRACTICES),
)
