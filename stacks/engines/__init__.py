"""The engines beside HBase: a folder for each."""
