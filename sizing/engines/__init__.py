"""The engines beside HBase: a folder for each, with the sizing that differs."""
