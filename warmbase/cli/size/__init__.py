"""The commands that size a cluster, with the pages that they print."""
