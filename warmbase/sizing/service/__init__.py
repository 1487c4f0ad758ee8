"""The latency and throughput of reads under load."""
