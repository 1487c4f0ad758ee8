"""A real HBase on this machine: proves what was rendered, and sets what it does beside what was predicted."""
