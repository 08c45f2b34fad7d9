"""The language: text becomes a tree, the tree is checked, compiled to Python, and run.

The folders are the pipeline, and each knows only those before it: `syntax` → `check` → `compile` → `run`. Beside them
is what only reads programs: `analysis` says all that is known of a text, for loading it and for editors; `formatter`,
`highlight`, `reach`. This room knows sessions and nothing of terminals: what a program prints, asks or shows goes
through the run's effects.
"""
