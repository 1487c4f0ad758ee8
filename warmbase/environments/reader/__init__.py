"""Reads an environment file: YAML with lines, the schema, every problem at once."""

from warmbase.environments.reader.read import locate, read_environment, shared_roots

__all__ = ["locate", "read_environment", "shared_roots"]
