"""EMR's nouns, once each: the cluster specification, its instance groups, their volumes and classifications."""
