"""The language: source → tokens → tree → checked tree → Python code, and the runtime the code asks models with.

Folders are few and files are the pipeline: `lexer`, `parser`, `checker`, `compiler`, `runtime`. This room knows
sessions and nothing of terminals: what a program prints, asks or shows goes through the runtime's effects.
"""
