"""Text to tree: source, tokens, the parser and its nodes, and diagnostics as values.

`grammar.txt` defines the syntax. Nothing here knows what a name means or which type a value has.
"""
