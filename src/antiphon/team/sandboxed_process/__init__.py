"""A standalone program that runs a command in a sandbox; it imports nothing else of this package."""
