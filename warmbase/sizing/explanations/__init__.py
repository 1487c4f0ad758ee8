"""The formula, inputs and source of each figure of a plan."""
