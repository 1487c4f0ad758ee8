"""The lab's software: a Java runtime, HBase, an S3-protocol server and a compiler, each pinned and verified."""

from lab.hbase.software.selection import Software, software
from lab.hbase.software.setup import problems, remove, set_up

__all__ = ["Software", "problems", "remove", "set_up", "software"]
