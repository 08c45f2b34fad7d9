"""The look of a terminal: one accent, little weight, and only colours that every terminal defines for itself."""

#: What leads the eye: headings, names of commands, what moves.
ACCENT = "cyan"
