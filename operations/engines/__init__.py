"""The engines beside HBase: a folder for each, with the operations that differ."""
