"""What a person writes: one YAML file per environment, the schema for editors, and `reader`, which reads them."""
