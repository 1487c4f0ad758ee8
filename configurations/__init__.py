"""Plan to EMR classifications: a closed catalogue of what we set, templates that look like what they make."""
