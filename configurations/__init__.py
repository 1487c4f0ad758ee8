"""From a plan to EMR classifications: the closed catalogue of properties, and the classifications of a launch."""
