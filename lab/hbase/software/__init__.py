"""The lab's software: a Java runtime, HBase, an S3-protocol server and a compiler, each pinned and verified."""

from lab.hbase.software.setup import Software, problems, remove, set_up, software

__all__ = ["Software", "problems", "remove", "set_up", "software"]
