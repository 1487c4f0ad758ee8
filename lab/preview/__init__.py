"""A cluster's dashboards before there is a cluster: drawn of counters that were recorded from a real HBase."""
