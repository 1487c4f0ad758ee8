"""One RegionServer: its memory, writes, restart and volumes."""
