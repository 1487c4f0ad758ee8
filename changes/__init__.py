"""What changing a running cluster to today's plan takes: live, a rolling restart, or a new cluster; and its cost."""
