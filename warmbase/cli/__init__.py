"""`warmbase`: parse, call one function, print."""
