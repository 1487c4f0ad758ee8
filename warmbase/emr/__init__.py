"""EMR's nouns, once each: the cluster specification, its instance groups, their volumes and classifications.

EMR's interfaces, each with a codec that reads and writes the same nouns: API, CloudFormation and command line.
"""
