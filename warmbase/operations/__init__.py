"""boto3 and the CDK command line: what is deployed, described, compared and removed."""
