"""What runs on this machine in place of a cloud: a local AWS, and the whole chain upon it."""
