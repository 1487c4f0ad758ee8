"""Metrics to dashboard bodies and alarms, as plain data. The cluster's id is filled in by CloudFormation."""
