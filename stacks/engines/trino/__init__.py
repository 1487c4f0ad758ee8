"""The stacks of an analytics cluster."""
