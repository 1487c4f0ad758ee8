"""HBase on a running cluster: restarts, regions, caches and tables."""
