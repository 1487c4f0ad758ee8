"""Figures that six published documents state, and what the calculator computes from their inputs."""
