"""Programs at work: modules loaded once, runs with their history, values, and the effects that reach the world."""

from typing import TYPE_CHECKING

from antiphon._public import lazy

if TYPE_CHECKING:
    from antiphon.lang.run.errors import VibeError
    from antiphon.lang.run.host import Host, PromptShown
    from antiphon.lang.run.importer import install_importer
    from antiphon.lang.run.program import Program, Report, load, loads, run

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

__getattr__ = lazy(__name__, _HOMES)
