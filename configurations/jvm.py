"""The Java of a RegionServer: the JDK, the collector, and the flags that follow from them.

One variable names the collector, another one states the heap, and nothing else does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from configurations import layout
from sizing.plan import Plan
from sizing.release import Release
from sizing.system_volume import heap_dump_bytes
from sizing.units import MIB

GC_LOG_FILES: Final = 10
GC_LOG_MIB: Final = 64


class Collector(StrEnum):
    """The garbage collectors that warmbase renders."""

    ZGC = "zgc"
    G1 = "g1"


COLLECTOR_FLAGS: Final = {
    Collector.ZGC: ("-XX:+UseZGC", "-XX:+ZGenerational"),
    Collector.G1: ("-XX:+UseG1GC",),
}
"""EMR documents ZGC with Java 21 (emr-hbase-configure); `ZGenerational` is a flag of JDK 21 to 23."""


class Jvm(Struct, frozen=True, kw_only=True):
    """The JVM flags of a RegionServer, and the home of its Java."""

    home: str
    collector: Collector
    heap_mib: int
    direct_mib: int
    dumps_heap: bool

    @property
    def gc_flags(self) -> str:
        """Return the flags for one collector, for touching memory at start, and for a log that rotates."""
        log = f"-Xlog:gc,gc+init,safepoint:file={layout.GC_LOG}:time,uptime,level,tags"
        rotation = f"filecount={GC_LOG_FILES},filesize={GC_LOG_MIB}m"
        return " ".join((*COLLECTOR_FLAGS[self.collector], "-XX:+AlwaysPreTouch", f"{log}:{rotation}"))

    @property
    def memory_flags(self) -> str:
        """Return the flags for heap and direct memory, and for a heap dump where the system volume has room."""
        dump = (f"-XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath={layout.HEAP_DUMP}",) if self.dumps_heap else ()
        sizes = (f"-Xms{self.heap_mib}m", f"-Xmx{self.heap_mib}m", f"-XX:MaxDirectMemorySize={self.direct_mib}m")
        return " ".join((*sizes, *dump))


def jvm(plan: Plan, release: Release) -> Jvm:
    """Return the Java that suits the release: generational ZGC where EMR documents Java 21 for HBase, else G1."""
    return Jvm(
        home=release.java_home,
        collector=Collector(plan.heap.collector),
        heap_mib=plan.heap.xmx_mib,
        direct_mib=_whole_mib(plan.memory.parts["direct"]),
        dumps_heap=plan.heap.xmx_bytes <= heap_dump_bytes(plan.core.volume("system").size_gib),
    )


def _whole_mib(size_bytes: int) -> int:
    if size_bytes % MIB:
        raise ValueError(f"{size_bytes} bytes are not whole MiB, and a property is never rounded")
    return size_bytes // MIB
