"""Programs as Python modules: `import rules` finds `rules.vibe`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.program import load
from antiphon.lang.syntax.diagnostics import ProgramErrors


class VibeFinder(MetaPathFinder):
    """Finds `.vibe` files where Python looks for modules; it is asked after Python's own finders."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """What importing this name would load, if it is a program."""
        name = f"{fullname.rpartition('.')[2]}.vibe"
        for place in sys.path if path is None else path:
            file = Path(place or ".") / name
            if file.is_file():
                real = str(file.resolve())
                return spec_from_file_location(fullname, real, loader=VibeLoader(real))
        return None


class VibeLoader(Loader):
    """Loads a program as a module: its top level runs once, and what it exports are the module's attributes."""

    def __init__(self, path: str) -> None:
        self._path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:  # noqa: ARG002
        """Python's own kind of module will do."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Check and run it. An ImportError says all that is wrong with it."""
        try:
            program = load(self._path)
        except (ProgramErrors, VibeError) as error:
            said = f"{module.__name__} cannot be imported\n{error}"
            raise ImportError(said, name=module.__name__, path=self._path) from None
        program.start()
        exports = program.main.exports.names
        given = sorted(name for name, symbol in exports.items() if symbol.kind not in ("type", "model"))
        for name in given:
            # Variables may change while the program's functions run: they are looked up each time.
            vars(module).pop(name, None)

        def attribute(name: str) -> Any:
            if name not in given:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)
            return program.exported(name)

        vars(module).update(
            __all__=given, __program__=program, __getattr__=attribute, __dir__=lambda: sorted([*vars(module), *given])
        )


def install_importer() -> None:
    """From now on, Python's `import` finds `.vibe` files too."""
    if not any(isinstance(each, VibeFinder) for each in sys.meta_path):
        sys.meta_path.append(VibeFinder())
