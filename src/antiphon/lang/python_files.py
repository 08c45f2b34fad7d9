"""The Python files of a program: read once, so that the code that runs is the code that was shown and trusted.

They run from the bytes that were read: not from the file as it is by then, and not from a bytecode cache
beside it, which may hold other code.
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

from antiphon._base.files import read_named_file

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    # The import system needs only their methods, and `importlib.abc` is slow to load.
    Loader = MetaPathFinder = object

PythonSources = Mapping[Path, bytes]

#: A larger file is no hand-written source, or has no end.
MAX_SOURCE_BYTES = 10_000_000
#: Imports of one file are followed up to this many files.
_MAX_FILES = 1_000


def read_python_source(path: Path) -> bytes:
    """Read the bytes of a Python source. Raise an OSError if it cannot be read or is too large."""
    return read_named_file(path, MAX_SOURCE_BYTES)


def collect_python_files(first: Path) -> PythonSources:
    """Read a Python file and, transitively, the files of the same program that it imports."""
    files: dict[Path, bytes] = {}
    pending = [first]
    while pending and len(files) < _MAX_FILES:
        path = pending.pop()
        if path in files or not path.is_file():
            continue
        try:
            files[path] = read_python_source(path)
            tree = ast.parse(files[path])
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        pending += _find_imported_paths(tree, path, first.parent)
    return dict(sorted(files.items()))


def _find_imported_paths(tree: ast.AST, path: Path, beside: Path) -> Iterator[Path]:
    """Yield the paths where a file's imports would be, if they are modules of the program itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _module_paths(beside, each.name)
        elif isinstance(node, ast.ImportFrom):
            # One dot means the directory of the file, each further one the directory above.
            base = path.parents[min(node.level, len(path.parents)) - 1] if node.level else beside
            for each in node.names:
                yield from _module_paths(base, f"{node.module}.{each.name}" if node.module else each.name)


def _module_paths(base: Path, name: str) -> Iterator[Path]:
    for step in name.split("."):
        base = base / step
        yield base.with_name(f"{step}.py")
        yield base / "__init__.py"


def run_python_file(first: Path, files: PythonSources) -> ModuleType:
    """Execute a file as a module and return it; its imports are looked up first among the files that were read."""
    loader = _BytesLoader(first, files[first])
    module = module_from_spec(_make_spec(f"vibe_{first.stem}", loader))
    with _finder_installed(_SourceFinder(first.parent, files)):
        loader.exec_module(module)
    return module


@contextmanager
def _finder_installed(finder: MetaPathFinder) -> Generator[None]:
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _SourceFinder(MetaPathFinder):
    """An import finder for the files that were read, by their names relative to the first file's directory."""

    def __init__(self, directory: Path, files: PythonSources) -> None:
        self._directory = directory
        self._files = files

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return the spec of a module, or None if it is not among the files that were read."""
        place = self._directory.joinpath(*fullname.split("."))
        for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if file in self._files:
                is_package = file.name == "__init__.py"
                return _make_spec(fullname, _BytesLoader(file, self._files[file]), place if is_package else None)
        # A namespace package: a directory without `__init__.py`, for the modules in it.
        return _make_spec(fullname, None, place) if any(place in file.parents for file in self._files) else None


class _BytesLoader(Loader):
    """An import loader that executes the bytes of a source as they were read."""

    def __init__(self, file: Path, data: bytes) -> None:
        self.file = file
        self._data = data

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:  # noqa: ARG002
        """Return None: Python's default module is used."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Execute the source in a module's namespace."""
        exec(compile(self._data, str(self.file), "exec", dont_inherit=True), vars(module))


def _make_spec(name: str, loader: _BytesLoader | None, package: Path | None = None) -> ModuleSpec:
    spec = ModuleSpec(name, loader, origin=str(loader.file) if loader else None, is_package=package is not None)
    if package is not None:
        spec.submodule_search_locations = [str(package)]
    spec.has_location = loader is not None
    return spec
