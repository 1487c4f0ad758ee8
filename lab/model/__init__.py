"""Predictions for the lab: the plan scaled to this machine, and what YCSB's draws will do to its cache."""
