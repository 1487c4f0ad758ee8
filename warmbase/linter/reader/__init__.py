"""The readers of anybody's files, as a ClusterSpec: EMR JSON or YAML, Hadoop XML, a command, or tables of HBase."""

from warmbase.linter.reader.read import read_subject, with_tables

__all__ = ["read_subject", "with_tables"]
