"""The commands that deploy and change a cluster."""
