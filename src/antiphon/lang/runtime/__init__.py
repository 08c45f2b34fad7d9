"""The runtime of programs: module loading, execution, history, values, and the effects they perform."""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.lang.runtime.errors import VibeError
    from antiphon.lang.runtime.host import Host, PromptShown
    from antiphon.lang.runtime.importer import install_importer
    from antiphon.lang.runtime.program import Program, Report, load, loads, run

_HOMES = {
    "Host": "host",
    "Report": "program",
    "Program": "program",
    "PromptShown": "host",
    "VibeError": "errors",
    "install_importer": "importer",
    "load": "program",
    "loads": "program",
    "run": "program",
}

__all__ = [
    "Host",
    "Program",
    "PromptShown",
    "Report",
    "VibeError",
    "install_importer",
    "load",
    "loads",
    "run",
]

__getattr__ = make_lazy_getattr(__name__, _HOMES)
