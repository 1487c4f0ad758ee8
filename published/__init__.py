"""Figures that six published documents state, and what the calculator makes of the inputs they state."""
