"""EMR's nouns, once each: the cluster specification, its instance groups, their volumes and classifications.

Each of EMR's interfaces has a codec that reads and writes these nouns: the API, CloudFormation and the command line.
"""
