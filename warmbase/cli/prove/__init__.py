"""The commands that compare a cluster with the documentation."""
