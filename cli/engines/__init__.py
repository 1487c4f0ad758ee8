"""The pages of the engines beside HBase: a folder for each."""
