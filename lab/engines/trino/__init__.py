"""A real Trino on this machine, whose file-system cache is measured against the lab's S3."""
