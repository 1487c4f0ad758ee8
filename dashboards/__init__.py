"""Dashboard bodies and alarms as plain data, made from metrics and a plan; CloudFormation fills in the cluster's id."""
