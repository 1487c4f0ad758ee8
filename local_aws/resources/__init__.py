"""The resource types that moto's CloudFormation lacks or only half keeps, one noun per file."""
