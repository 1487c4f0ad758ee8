"""The pages about an analytics cluster."""
