"""The language: text becomes a tree, the tree is checked, compiled to Python, and run.

The folders are the pipeline, and each knows only those before it: `syntax` → `check` → `compile` → `run`. Beside them
are readers of programs that run nothing: `formatter`, `highlight`, `reach`. This room knows sessions and nothing of
terminals: what a program prints, asks or shows goes through the run's effects.
"""
