"""The engines besides HBase: a folder for each, with the sizing that differs."""
