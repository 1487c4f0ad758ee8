"""One-line mutations of what matters, and the command that names the test that notices each."""
