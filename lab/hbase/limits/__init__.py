"""A disk and a memory of a chosen size and speed: what a cluster's nodes have, in miniature, on this machine."""
