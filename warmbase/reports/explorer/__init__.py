"""The page on which you change the inputs of a plan, served by a command or written as one file."""
