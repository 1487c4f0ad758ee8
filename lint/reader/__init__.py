"""Reads anybody's file as a ClusterSpec: EMR's JSON or YAML, a launch command, or Hadoop's XML."""

from lint.reader.read import read_subject

__all__ = ["read_subject"]
