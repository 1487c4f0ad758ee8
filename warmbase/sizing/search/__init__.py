"""The search for the cheapest cluster that meets the targets."""
