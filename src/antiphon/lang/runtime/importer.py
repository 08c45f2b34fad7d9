"""Import hook: Python's `import rules` finds `rules.vibe`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.program import load
from antiphon.lang.syntax.diagnostics import ProgramErrors


class VibeFinder(MetaPathFinder):
    """A finder for `.vibe` files on Python's module path; it is consulted after Python's own finders."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return the module spec of the `.vibe` file with this name, or None."""
        name = f"{fullname.rpartition('.')[2]}.vibe"
        for place in sys.path if path is None else path:
            file = Path(place or ".") / name
            if file.is_file():
                real = str(file.resolve())
                return spec_from_file_location(fullname, real, loader=VibeLoader(real))
        return None


class VibeLoader(Loader):
    """A loader that runs a program's top level once; the module's attributes are the program's exports."""

    def __init__(self, path: str) -> None:
        self._path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:  # noqa: ARG002
        """Return None: Python's default module object is used."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Check and run the program; raise an ImportError that lists all its errors."""
        try:
            program = load(self._path)
        except (ProgramErrors, VibeError) as error:
            said = f"{module.__name__} cannot be imported\n{error}"
            raise ImportError(said, name=module.__name__, path=self._path) from None
        program.start()
        exports = program.main.exports.names
        given = sorted(name for name, symbol in exports.items() if symbol.kind not in ("type", "model"))
        for name in given:
            # Exported variables may change while functions run, so they are looked up at each access.
            vars(module).pop(name, None)

        def attribute(name: str) -> Any:
            if name not in given:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)
            return program.exported(name)

        vars(module).update(
            __all__=given, __program__=program, __getattr__=attribute, __dir__=lambda: sorted([*vars(module), *given])
        )


def install_importer() -> None:
    """Let Python's `import` find `.vibe` files from now on."""
    if not any(isinstance(each, VibeFinder) for each in sys.meta_path):
        sys.meta_path.append(VibeFinder())
