"""CloudFormation: templates, change sets, updates, drift and stack policies."""
