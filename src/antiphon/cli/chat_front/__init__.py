"""What `antiphon chat` and `antiphon ask` share: a conversation that is kept, shown and steered from a terminal.

Everything heavy is imported by the commands when they run.
"""
