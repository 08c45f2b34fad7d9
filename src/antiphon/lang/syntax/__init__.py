"""Text to tree: source, tokens, the parser and its nodes, and what is wrong with a text as a value.

`grammar.txt` says what may be written. Nothing here knows what a name means or which type a value has.
"""
