"""The pages about analytics clusters."""
