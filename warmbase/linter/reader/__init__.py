"""Reads anybody's file as a ClusterSpec: EMR's JSON or YAML, a launch command, Hadoop's XML, or HBase's tables."""

from warmbase.linter.reader.read import read_subject, with_tables

__all__ = ["read_subject", "with_tables"]
