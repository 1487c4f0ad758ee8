"""The files that a person writes: one YAML file per environment, its schema for editors, and their `reader`."""
