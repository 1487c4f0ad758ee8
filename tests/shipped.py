"""The environments that ship with the project."""

ENVIRONMENTS = ("dev", "prod", "published-emr")
