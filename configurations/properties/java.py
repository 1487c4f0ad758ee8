"""The Java of HBase's daemons: which one, its collector, its heap."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.properties.property import BOTH, CORE, PRIMARY, Applied, Property
from configurations.properties.sources import BEST_PRACTICES, EMR_HBASE_CONFIGURE, HBASE_262, RECIPE
from configurations.properties.values import AnyText, Matching, Whole

__all__ = ["JAVA"]

OPTIONS: Final = AnyText(described="JVM options, the whole of them in quotes that are part of the value")
HEAP: Final = Matching(form=r'"?\d+[kmgKMG]?"?', described="a size such as 4096m", unit="MiB, with its suffix")
_export = partial(Property, classification="hbase-env/export", groups=CORE, applied=Applied.ROLLING_RESTART)

JAVA: Final = (
    _export(
        key="JAVA_HOME",
        groups=BOTH,
        values=Matching(form=r'"?/.+"?', described="a whole path"),
        reason="the Java whose collector flags are rendered",
        source=EMR_HBASE_CONFIGURE,
    ),
    _export(
        key="HBASE_HEAPSIZE",
        groups=PRIMARY,
        values=HEAP,
        reason="heap of a primary node's daemons; a RegionServer's stands in HBASE_REGIONSERVER_OPTS alone",
        source=RECIPE,
    ),
    _export(
        key="HBASE_OFFHEAPSIZE",
        values=HEAP,
        reason="direct memory of every daemon; a RegionServer's stands in HBASE_REGIONSERVER_OPTS alone",
        source=BEST_PRACTICES,
    ),
    _export(
        key="HBASE_REGIONSERVER_OPTS",
        values=OPTIONS,
        figure="heap.xmx_mib",
        conversion="-Xms and -Xmx with the suffix m; direct memory is memory.parts.direct, bytes / 1,048,576",
        reason="heap and direct memory, stated once; appended, for others put agents and exporters into the same "
        "variable. A heap dump goes to the system volume where it has room for one",
        source=BEST_PRACTICES,
    ),
    _export(
        key="HBASE_REGIONSERVER_GC_OPTS",
        values=OPTIONS,
        reason="one collector, stated nowhere else; memory is touched at start so that no read pays for it; the "
        "collector's log rotates",
        source=EMR_HBASE_CONFIGURE,
    ),
    _export(
        key="HBASE_STOP_TIMEOUT",
        values=Whole(unit="s", least=1, most=86_400),
        figure="persistence.stop_timeout_seconds",
        reason="a stop writes the index of the cache before it closes regions; hbase-daemon.sh kills what takes "
        "longer, and the cache is lost. systemd's own limit, in the drop-in of the unit, is a minute longer",
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
