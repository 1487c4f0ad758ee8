"""Reads an environment file: YAML with lines, the schema, every problem at once."""

from environments.reader.conflicts import shared_roots
from environments.reader.read import locate, read_environment

__all__ = ["locate", "read_environment", "shared_roots"]
