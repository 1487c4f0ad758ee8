"""The dashboards and alarms of engines other than HBase, each in a folder of its own."""
