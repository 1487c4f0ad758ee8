"""The page of an analytics cluster: its figures, inputs and plots."""
