"""The dashboard and the alarms of an analytics cluster."""
