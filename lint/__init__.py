"""What is wrong with the configuration of a cluster, ours or a stranger's, found before it is deployed."""
