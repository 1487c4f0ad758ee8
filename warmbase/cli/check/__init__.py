"""The commands that check a configuration."""
