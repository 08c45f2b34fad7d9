"""A checked tree to Python's own: the code object of a module, and what its run must know besides.

It runs nothing. What the code calls when it runs are names that `run` gives it.
"""
