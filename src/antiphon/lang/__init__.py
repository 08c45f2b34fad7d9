"""The language: text becomes a tree, the tree is checked, compiled to Python, and run.

The folders are the pipeline, and each knows only those before it: `syntax` → `check` → `compile` → `run`. Beside them
is what only reads programs: `analysis` says all that is known of a text, for loading it and for editors; `formatter`,
`highlight`, `reach`. This room knows sessions and nothing of terminals: what a program prints, asks or shows goes
through the run's effects.
"""

from typing import TYPE_CHECKING

from antiphon._public import lazy

if TYPE_CHECKING:
    from antiphon.lang.analysis import Analysis, analyse
    from antiphon.lang.formatter import format_source
    from antiphon.lang.highlight import VibeLexer
    from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
    from antiphon.lang.syntax.source import Source

_HOMES = {
    "Analysis": "analysis",
    "Diagnostic": "syntax.diagnostics",
    "ProgramErrors": "syntax.diagnostics",
    "Source": "syntax.source",
    "VibeLexer": "highlight",
    "analyse": "analysis",
    "format_source": "formatter",
}

__all__ = ["Analysis", "Diagnostic", "ProgramErrors", "Source", "VibeLexer", "analyse", "format_source"]

__getattr__ = lazy(__name__, _HOMES)
