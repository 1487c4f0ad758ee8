"""The Java of HBase's daemons: its version, its garbage collector and its heap, as variables that EMR exports."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.jvm import GC_LOG_FILES, GC_LOG_MIB
from configurations.properties.property import BOTH, CORE, PRIMARY, Applied, Property
from configurations.properties.sources import BEST_PRACTICES, EMR_HBASE_CONFIGURE, HBASE_262, RECIPE
from configurations.properties.values import AnyText, Matching, Whole
from sizing.system_volume import HEAP_DUMP_GIB

OPTIONS: Final = AnyText(described="JVM options, the whole of them in quotes that are part of the value")
HEAP: Final = Matching(form=r'"?\d+[kmgKMG]?"?', described="a size such as 4096m", unit="MiB, with its suffix")
PRIMARY_HEAP_MIB: Final = 4_096  # judgement: see the property's reason
_export = partial(Property, classification="hbase-env/export", groups=CORE, applied=Applied.ROLLING_RESTART)

JAVA: Final = (
    _export(
        key="JAVA_HOME",
        groups=BOTH,
        values=Matching(form=r'"?/.+"?', described="a whole path"),
        reason="the Java that accepts the rendered collector flags",
        source=EMR_HBASE_CONFIGURE,
    ),
    _export(
        key="HBASE_HEAPSIZE",
        groups=PRIMARY,
        values=HEAP,
        reason=f"the heap of the daemons on a primary node: {PRIMARY_HEAP_MIB:,} MiB, half of the smallest node "
        "listed, because a master holds regions and assignments but no blocks. A RegionServer's heap is in "
        "HBASE_REGIONSERVER_OPTS",
        source=RECIPE,
    ),
    _export(
        key="HBASE_OFFHEAPSIZE",
        values=HEAP,
        reason="the direct memory of every daemon; a RegionServer's is in HBASE_REGIONSERVER_OPTS",
        source=BEST_PRACTICES,
    ),
    _export(
        key="HBASE_REGIONSERVER_OPTS",
        values=OPTIONS,
        figure="heap.xmx_mib",
        conversion="-Xms and -Xmx with the suffix m; direct memory is memory.parts.direct, bytes / 1,048,576",
        reason="heap and direct memory, stated in one place; appended, because agents and exporters use the same "
        f"variable. A heap of at most {HEAP_DUMP_GIB} GiB is dumped to the system volume, which has that much room "
        "beside the write-ahead log; a larger one is not dumped",
        source=BEST_PRACTICES,
    ),
    _export(
        key="HBASE_REGIONSERVER_GC_OPTS",
        values=OPTIONS,
        reason="one collector, stated in one place; memory is touched at start, so that no read pays for it; the "
        f"collector's log rotates over {GC_LOG_FILES} files of {GC_LOG_MIB} MiB",
        source=EMR_HBASE_CONFIGURE,
    ),
    _export(
        key="HBASE_STOP_TIMEOUT",
        values=Whole(unit="s", least=1, most=86_400),
        figure="persistence.stop_timeout_seconds",
        reason="a RegionServer writes the index of its cache before it closes regions; hbase-daemon.sh kills it after "
        "this time, and the cache is lost. systemd's own limit, in the drop-in of the unit, is a minute longer",
        source=HBASE_262,
    ),
    _export(
        key="HBASE_MASTER_OPTS",
        groups=PRIMARY,
        values=OPTIONS,
        reason="options of the master",
        source=BEST_PRACTICES,
    ),
    _export(
        key="HBASE_OPTS",
        groups=BOTH,
        values=OPTIONS,
        reason="options of every daemon and command",
        source=BEST_PRACTICES,
    ),
)
