"""The Python files of a program: read once, so that what was shown and trusted is what is run.

They are run from the bytes that were read: not from the file as it is by then, and not from a cache beside it, which
may hold something else altogether.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from antiphon._files import read_named_file

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    # The import system asks for no more than their methods, and their module takes long to load.
    Loader = MetaPathFinder = object

Files = Mapping[Path, bytes]

#: Nobody writes more by hand; what is larger is no source, or has no end.
MOST_BYTES = 10_000_000
#: More files than that are not followed from one.
_MOST_FILES = 1_000


def read_python(path: Path) -> bytes:
    """The bytes of a source; an OSError says why there are none."""
    return read_named_file(path, MOST_BYTES)


def python_files(first: Path) -> Files:
    """A Python file and those beside it that it imports, and so on."""
    files: dict[Path, bytes] = {}
    pending = [first]
    while pending and len(files) < _MOST_FILES:
        path = pending.pop()
        if path in files or not path.is_file():
            continue
        try:
            files[path] = read_python(path)
            tree = ast.parse(files[path])
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        pending += _imported(tree, path, first.parent)
    return dict(sorted(files.items()))


def _imported(tree: ast.AST, path: Path, beside: Path) -> Iterator[Path]:
    """Where the modules would lie that a file imports, if they are the program's own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _places(beside, each.name)
        elif isinstance(node, ast.ImportFrom):
            # One dot means the directory of the file, each further one the directory above.
            base = path.parents[min(node.level, len(path.parents)) - 1] if node.level else beside
            for each in node.names:
                yield from _places(base, f"{node.module}.{each.name}" if node.module else each.name)


def _places(base: Path, name: str) -> Iterator[Path]:
    for step in name.split("."):
        base = base / step
        yield base.with_name(f"{step}.py")
        yield base / "__init__.py"


def run_python(first: Path, files: Files) -> ModuleType:
    """The module of a file; what it imports is found among the files that were read with it before all others."""
    loader = _Source(first, files[first])
    module = module_from_spec(_spec(f"vibe_{first.stem}", loader))
    with _found(_Beside(first.parent, files)):
        loader.exec_module(module)
    return module


@contextmanager
def _found(finder: MetaPathFinder) -> Generator[None]:
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Beside(MetaPathFinder):
    """Finds the files that were read, by their names as seen from the first."""

    def __init__(self, directory: Path, files: Files) -> None:
        self._directory = directory
        self._files = files

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """What importing this name would load, if it was read."""
        place = self._directory.joinpath(*fullname.split("."))
        for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if file in self._files:
                is_package = file.name == "__init__.py"
                return _spec(fullname, _Source(file, self._files[file]), place if is_package else None)
        # A directory without a file of its own, for the sake of those in it.
        return _spec(fullname, None, place) if any(place in file.parents for file in self._files) else None


class _Source(Loader):
    """Runs a source as it was read."""

    def __init__(self, file: Path, data: bytes) -> None:
        self.file = file
        self._data = data

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:  # noqa: ARG002
        """Python's own kind of module will do."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run it as this module."""
        exec(compile(self._data, str(self.file), "exec", dont_inherit=True), vars(module))


def _spec(name: str, loader: _Source | None, package: Path | None = None) -> ModuleSpec:
    spec = ModuleSpec(name, loader, origin=str(loader.file) if loader else None, is_package=package is not None)
    if package is not None:
        spec.submodule_search_locations = [str(package)]
    spec.has_location = loader is not None
    return spec
