"""The workload: what is stored, how it is read, and how popular each block is."""
