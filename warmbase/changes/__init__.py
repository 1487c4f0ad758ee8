"""The changes from a running cluster to today's plan, each with its impact, and the cost of applying them."""
