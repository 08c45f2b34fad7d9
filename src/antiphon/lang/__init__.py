"""The language pipeline: text is parsed to a tree, type-checked, compiled to Python and run.

The packages are the pipeline, and each imports only those before it: `syntax` → `typecheck` → `codegen` →
`runtime`. Modules beside them only read programs: `analysis` gathers all that is known of a text, for loading
it and for editors; `formatter`, `highlight` and `capabilities` use it or the tree. This package knows
sessions and nothing of terminals: what a program prints, asks or shows goes through the run's effects.
"""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.lang.analysis import Analysis, analyse, parse_type_text
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
    "parse_type_text": "analysis",
}

__all__ = [
    "Analysis",
    "Diagnostic",
    "ProgramErrors",
    "Source",
    "VibeLexer",
    "analyse",
    "format_source",
    "parse_type_text",
]

__getattr__ = make_lazy_getattr(__name__, _HOMES)
