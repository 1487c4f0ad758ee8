"""The engines beside HBase: a folder for each, with the keys that differ."""
