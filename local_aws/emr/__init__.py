"""EMR: clusters, instance groups, steps and the programs of the nodes."""
