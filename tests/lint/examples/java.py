"""The Java of the RegionServer."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import OPTIONS, File

EXPORT = "hbase-env/export"
GC = "HBASE_REGIONSERVER_GC_OPTS"
OPTS = "HBASE_REGIONSERVER_OPTS"
UNFIXED = {"hbase.regionserver.fixed.heap.enabled": None}


def export(**variables: str | None) -> File:
    """Return a file with these variables."""
    return File(others={EXPORT: variables})


JAVA = (
    Case(
        id="WB401",
        faulty=export(JAVA_HOME="/usr/lib/jvm/jre-17"),
        right=export(JAVA_HOME="/usr/lib/jvm/jre-21"),
        at=f"{EXPORT} {GC}",
        says="the JVM does not start",
    ),
    Case(
        id="WB402",
        faulty=File(others={EXPORT: {GC: '"-XX:+UseZGC"'}, "hbase": UNFIXED}, release="emr-7.9.0"),
        right=File(others={EXPORT: {GC: '"-XX:+UseG1GC"'}, "hbase": UNFIXED}, release="emr-7.9.0"),
        at=f"{EXPORT} {GC}",
        says="emr-7.9.0 does not document ZGC or Java 21 for HBase",
    ),
    Case(
        id="WB403",
        faulty=export(HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC -XX:+UseParallelGC"'),
        right=export(HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC"'),
        at=f"{EXPORT} {GC}",
        says="2 collectors: UseG1GC, UseParallelGC",
    ),
    Case(
        id="WB404",
        faulty=export(HBASE_REGIONSERVER_OPTS='"-Xms16g -Xmx16g"'),
        right=export(HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xms16g -Xmx16g"'),
        at=f"{EXPORT} {OPTS}",
        says="this drops the options that exporters",
    ),
    Case(
        id="WB405",
        faulty=export(HBASE_HEAPSIZE="12288m"),
        right=export(HBASE_HEAPSIZE="16384m"),
        at=f"{EXPORT} HBASE_HEAPSIZE",
        says="12,288 MiB here and 16,384 MiB by -Xmx",
    ),
    Case(
        id="WB406",
        faulty=export(HBASE_REGIONSERVER_OPTS=OPTIONS.strip('"')),
        right=export(HBASE_REGIONSERVER_OPTS=OPTIONS),
        at=f"{EXPORT} {OPTS}",
        says="HBASE_REGIONSERVER_OPTS has blanks and is not quoted inside the value",
    ),
    Case(
        id="WB407",
        faulty=File(others={"hbase": UNFIXED, EXPORT: {OPTS: '"$HBASE_REGIONSERVER_OPTS -Xmx16g"'}}),
        right=File(others={"hbase": UNFIXED}),
        at=f"{EXPORT} {GC}",
        says="the heap can shrink, and has to grow again for the index of the cache",
    ),
    Case(
        id="WB408",
        faulty=File(others={"yarn-site": {"yarn.nodemanager.resource.memory-mb": "49153"}}),
        right=File(others={"yarn-site": {"yarn.nodemanager.resource.memory-mb": "49152"}}),
        at=f"{EXPORT} {OPTS}",
        says="of 64 on r8g.2xlarge",
    ),
    Case(
        id="WB409",
        faulty=export(HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xms8g -Xmx8g"'),
        right=export(HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xms10g -Xmx10g"'),
        at=f"{EXPORT} {OPTS}",
        says="the cache's index, 3.9 GiB (estimate)",
    ),
    Case(
        id="WB410",
        faulty=export(
            HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC"',
            HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xmx32g"',
        ),
        right=export(
            HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC"',
            HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xmx31g"',
        ),
        at=f"{EXPORT} {OPTS}",
        says="32 GiB of heap is too large for compressed pointers",
    ),
    Case(
        id="WB411",
        faulty=export(HBASE_OPTS='"$HBASE_OPTS -XX:+HeapDumpOnOutOfMemoryError"'),
        right=export(HBASE_OPTS='"$HBASE_OPTS -XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=/mnt/dumps"'),
        at=f"{EXPORT} HBASE_OPTS",
        says="goes to the working directory",
    ),
    Case(
        id="WB412",
        faulty=export(HBASE_REGIONSERVER_OPTS=None),
        right=export(HBASE_REGIONSERVER_OPTS=None, HBASE_HEAPSIZE="16384m"),
        at=f"{EXPORT} {OPTS}",
        says="the heap of the RegionServer is not set",
    ),
    Case(
        id="WB413",
        faulty=File(others={"hbase-env/export": {"HBASE_MASTER_OPTS": "'$HBASE_MASTER_OPTS -Xmx4g'"}}),
        right=File(others={"hbase-env/export": {"HBASE_MASTER_OPTS": '"$HBASE_MASTER_OPTS -Xmx4g"'}}),
        at="hbase-env/export HBASE_MASTER_OPTS",
        says="the shell does not expand variables inside single quotes",
    ),
    Case(
        id="WB421",
        faulty=export(HBASE_REGIONSERVER_GC_OPTS="\"-XX:+UseG1GC -XX:OnOutOfMemoryError='kill -9 %p'\""),
        right=export(HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC -XX:OnOutOfMemoryError=/bin/true"'),
        at=f"{EXPORT} {GC}",
        says="HBase splits -XX:OnOutOfMemoryError=kill -9 %p at its blank",
    ),
)
