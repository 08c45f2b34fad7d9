"""A program of its own that runs a command in a system made from nothing; it imports nothing of ours."""
