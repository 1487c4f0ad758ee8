"""The sections of the engines beside HBase: a folder for each."""
