"""Command lines of the lab's Java processes, with the options of `bin/hbase` and the rendered flags."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from configurations.node_files import region_server_flags
from lab.hbase.software import Software

# The options that bin/hbase of HBase 2.6 passes to Java 11 and newer.
OPENED: Final = (
    "-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
    "--add-modules=jdk.unsupported",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.nio",
            "sun.nio.ch",
            "java.lang",
            "jdk.internal.ref",
            "java.lang.reflect",
            "java.util",
            "java.util.concurrent",
            "java.io",
        )
    ),
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
)
FIRST_TIER: Final = ("-XX:TieredStopAtLevel=1",)
"""The second compiler is off: it would take much of the few cores at every start, and processes live only minutes."""
CLIENT_LOGGING: Final = "client.log4j2.properties"
SCALED_FLAGS: Final = re.compile(
    r"-Xm[sx]\w+|-XX:MaxDirectMemorySize=\w+|-Xlog:gc\S*|-XX:HeapDumpPath=\S+|-XX:\+HeapDump\S+"
)
"""Flags of a rendered RegionServer that name sizes and paths of a real node."""

QUIET: Final = (
    ("org.apache.hadoop", "WARN"),
    ("org.apache.zookeeper", "WARN"),
    ("org.apache.hadoop.hbase", "INFO"),
    ("org.apache.hadoop.hbase.zookeeper", "WARN"),
    ("org.apache.hadoop.metrics2", "ERROR"),
    ("org.apache.hadoop.util.NativeCodeLoader", "ERROR"),
    ("org.apache.hbase.thirdparty.org.eclipse.jetty", "WARN"),
    ("software.amazon.awssdk", "WARN"),
    ("http.requests", "WARN"),
)
"""Loggers and their levels; otherwise `http.requests` logs a line for each read of JMX."""
PATTERN: Final = "%d{ISO8601} %-5p [%t] %c{2}: %m%n%ex{6}%n"


class Java(Struct, frozen=True, kw_only=True):
    """One JVM: its flags, the directory in front of its class path, its temporary directory and its main class."""

    software: Software
    configuration: Path
    scratch: Path
    flags: Sequence[str]

    def arguments(self, *main: str) -> tuple[str, ...]:
        """Return the command line, with a main class and its arguments if any are given."""
        class_path = ":".join((str(self.configuration), *self.software.class_path))
        temporary = f"-Djava.io.tmpdir={self.scratch}"
        return (str(self.software.java), *self.flags, temporary, *OPENED, "-cp", class_path, *main)


def rendered_flags(variables: Mapping[str, str], *, heap_mib: int, direct_mib: int, log: Path) -> tuple[str, ...]:
    """Return a RegionServer's flags as rendered for `hbase-env`, with this machine's sizes and paths."""
    flags = [flag for flag in region_server_flags(variables) if not SCALED_FLAGS.fullmatch(flag)]
    sizes = (f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m", f"-XX:MaxDirectMemorySize={direct_mib}m")
    return (*flags, *sizes, f"-Xlog:gc*=info:file={log}:time,uptime,level,tags")


def logging_file(levels: Mapping[str, str], *, to_file: bool) -> str:
    """Return `log4j2.properties` that log to the file `lab.log` names, or to stderr; `levels` are rendered loggers."""
    lines = ["status = error", "name = lab", f"rootLogger = {'INFO' if to_file else 'WARN'}, out"]
    lines += (
        ["appender.out.type = File", "appender.out.fileName = ${sys:lab.log}"]
        if to_file
        else ["appender.out.type = Console", "appender.out.target = SYSTEM_ERR"]
    )
    lines += [
        "appender.out.name = out",
        "appender.out.layout.type = PatternLayout",
        f"appender.out.layout.pattern = {PATTERN}",
    ]
    for number, (name, level) in enumerate(QUIET):
        lines += [
            f"logger.q{number}.name = {name}",
            f"logger.q{number}.level = {level if to_file else max_level(level)}",
        ]
    lines += [f"{key} = {value}" for key, value in levels.items()]
    return "\n".join(lines) + "\n"


def max_level(level: str) -> str:
    """Return the quieter of a level and WARN."""
    return "WARN" if level == "INFO" else level
