"""EMR's interfaces, each with a codec that reads and writes the same nouns: API, CloudFormation and command line."""
