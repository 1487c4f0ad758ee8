"""Plans for inputs that are ranges, and for growth."""
