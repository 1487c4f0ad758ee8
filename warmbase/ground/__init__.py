"""The types that every room stands on: errors, units, releases, instances, prices and blocks."""
