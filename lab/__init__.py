"""Real HBase and a whole demonstration deployment, both on this machine in place of a cloud."""
