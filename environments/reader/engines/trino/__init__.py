"""The section of an analytics cluster in an environment file."""
