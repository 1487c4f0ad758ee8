"""The state of a running cluster, and the operations that change its regions, volumes and alarms."""
