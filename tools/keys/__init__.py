"""The catalogue of the keys that HBase and Hadoop know, from the jars of their releases."""
