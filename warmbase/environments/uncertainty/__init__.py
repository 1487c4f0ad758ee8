"""Uncertainty: judgements of the model, ranges of the inputs, and growth."""
