"""Trino with its file-system cache on EMR: all that warmbase knows about analytics clusters."""
