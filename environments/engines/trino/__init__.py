"""From an environment to the plan of one of its analytics clusters."""
