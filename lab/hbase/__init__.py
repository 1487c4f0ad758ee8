"""A real HBase on this machine: it proves what was rendered, and compares its behaviour with what was predicted."""
