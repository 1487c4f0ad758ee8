"""Drafts of environment files: the values that a person states, and assumptions for all others."""
