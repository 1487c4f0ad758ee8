"""The commands that operate a running cluster."""
