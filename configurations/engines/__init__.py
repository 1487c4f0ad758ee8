"""The engines beside HBase: a folder for each, with the properties that are its own."""
