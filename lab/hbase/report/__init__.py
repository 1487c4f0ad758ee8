"""A run of the lab for people: its numbers in words, its curves as pictures, all of it as one HTML page."""
