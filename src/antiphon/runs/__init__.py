"""Programs as runs of a journal: begun, gone on with, and run for each of many rows.

This room knows the language and the journal, and nothing of who looks on or how: commands and workers do.
"""
