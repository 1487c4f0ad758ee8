"""The pages of engines other than HBase."""
