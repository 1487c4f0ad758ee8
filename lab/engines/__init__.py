"""The engines other than HBase that the lab runs; an engine is a folder here."""
