"""Generators of pages and facts, for who maintains warmbase. They are not part of the package."""
