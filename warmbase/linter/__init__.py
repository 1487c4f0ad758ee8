"""Rules that find faults in the configuration of any cluster before it is deployed, and readers of its files."""
