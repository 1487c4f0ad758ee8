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
        "WB401",
        f"{EXPORT} {GC}",
        "the JVM does not start",
        export(JAVA_HOME="/usr/lib/jvm/jre-17"),
        export(JAVA_HOME="/usr/lib/jvm/jre-21"),
    ),
    Case(
        "WB402",
        f"{EXPORT} {GC}",
        "emr-7.9.0 does not document ZGC or Java 21 for HBase",
        File(others={EXPORT: {GC: '"-XX:+UseZGC"'}, "hbase": UNFIXED}, release="emr-7.9.0"),
        File(others={EXPORT: {GC: '"-XX:+UseG1GC"'}, "hbase": UNFIXED}, release="emr-7.9.0"),
    ),
    Case(
        "WB403",
        f"{EXPORT} {GC}",
        "2 collectors: UseG1GC, UseParallelGC",
        export(HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC -XX:+UseParallelGC"'),
        export(HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC"'),
    ),
    Case(
        "WB404",
        f"{EXPORT} {OPTS}",
        "this drops the options that exporters",
        export(HBASE_REGIONSERVER_OPTS='"-Xms16g -Xmx16g"'),
        export(HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xms16g -Xmx16g"'),
    ),
    Case(
        "WB405",
        f"{EXPORT} HBASE_HEAPSIZE",
        "12,288 MiB here and 16,384 MiB by -Xmx",
        export(HBASE_HEAPSIZE="12288m"),
        export(HBASE_HEAPSIZE="16384m"),
    ),
    Case(
        "WB406",
        f"{EXPORT} {OPTS}",
        "HBASE_REGIONSERVER_OPTS has blanks and is not quoted inside the value",
        export(HBASE_REGIONSERVER_OPTS=OPTIONS.strip('"')),
        export(HBASE_REGIONSERVER_OPTS=OPTIONS),
    ),
    Case(
        "WB407",
        f"{EXPORT} {GC}",
        "the heap can shrink, and has to grow again for the index of the cache",
        File(others={"hbase": UNFIXED, EXPORT: {OPTS: '"$HBASE_REGIONSERVER_OPTS -Xmx16g"'}}),
        File(others={"hbase": UNFIXED}),
    ),
    Case(
        "WB408",
        f"{EXPORT} {OPTS}",
        "of 64 on r8g.2xlarge",
        File(others={"yarn-site": {"yarn.nodemanager.resource.memory-mb": "49153"}}),
        File(others={"yarn-site": {"yarn.nodemanager.resource.memory-mb": "49152"}}),
    ),
    Case(
        "WB409",
        f"{EXPORT} {OPTS}",
        "the cache's index, 3.9 GiB (estimate)",
        export(HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xms8g -Xmx8g"'),
        export(HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xms10g -Xmx10g"'),
    ),
    Case(
        "WB410",
        f"{EXPORT} {OPTS}",
        "32 GiB of heap is too large for compressed pointers",
        export(
            HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC"', HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xmx32g"'
        ),
        export(
            HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC"', HBASE_REGIONSERVER_OPTS='"$HBASE_REGIONSERVER_OPTS -Xmx31g"'
        ),
    ),
    Case(
        "WB411",
        f"{EXPORT} HBASE_OPTS",
        "goes to the working directory",
        export(HBASE_OPTS='"$HBASE_OPTS -XX:+HeapDumpOnOutOfMemoryError"'),
        export(HBASE_OPTS='"$HBASE_OPTS -XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=/mnt/dumps"'),
    ),
    Case(
        "WB412",
        f"{EXPORT} {OPTS}",
        "the heap of the RegionServer is not set",
        export(HBASE_REGIONSERVER_OPTS=None),
        export(HBASE_REGIONSERVER_OPTS=None, HBASE_HEAPSIZE="16384m"),
    ),
    Case(
        "WB413",
        "hbase-env/export HBASE_MASTER_OPTS",
        "the shell does not expand variables inside single quotes",
        File(others={"hbase-env/export": {"HBASE_MASTER_OPTS": "'$HBASE_MASTER_OPTS -Xmx4g'"}}),
        File(others={"hbase-env/export": {"HBASE_MASTER_OPTS": '"$HBASE_MASTER_OPTS -Xmx4g"'}}),
    ),
    Case(
        "WB421",
        f"{EXPORT} {GC}",
        "HBase splits -XX:OnOutOfMemoryError=kill -9 %p at its blank",
        export(HBASE_REGIONSERVER_GC_OPTS="\"-XX:+UseG1GC -XX:OnOutOfMemoryError='kill -9 %p'\""),
        export(HBASE_REGIONSERVER_GC_OPTS='"-XX:+UseG1GC -XX:OnOutOfMemoryError=/bin/true"'),
    ),
)
