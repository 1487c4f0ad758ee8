"""The classifications of an analytics cluster."""
