"""Access to an AWS account: calls, errors, stacks, steps and files in S3."""
