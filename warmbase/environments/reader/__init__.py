"""The reader of environment files: YAML with lines, the schema, and every problem at once."""

from warmbase.environments.reader.read import locate, read_environment, shared_roots

__all__ = ["locate", "read_environment", "shared_roots"]
