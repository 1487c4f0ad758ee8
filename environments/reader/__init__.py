"""Reads an environment file: YAML with lines, the schema, every problem at once."""

from environments.reader.read import locate, read_environment
from environments.reader.siblings import shared_roots

__all__ = ["locate", "read_environment", "shared_roots"]
