"""The operations on an analytics cluster that differ from those on HBase."""
