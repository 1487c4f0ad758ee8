"""Engines beside HBase, each in a package of its own."""
