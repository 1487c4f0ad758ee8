"""The comparison of a running cluster with our documentation."""
