"""The page on which a person changes the inputs of a plan, served by a command or written as one file."""
