"""Coverage of programs: a plug-in for coverage.py, which would otherwise take a `.vibe` file for Python.

[tool.coverage.run]
plugins = ["antiphon.lang.coverage_plugin"]
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import coverage

from antiphon.lang.compile.naming import AROUND


class Programs(coverage.CoveragePlugin):
    """Knows the files of programs, and which of their lines can run."""

    def file_tracer(self, filename: str) -> coverage.FileTracer | None:
        """Whoever runs a program's code runs its lines."""
        return _Traced(filename) if filename.endswith(".vibe") else None

    def file_reporter(self, filename: str) -> coverage.FileReporter | str:
        """What can be said of a program's file."""
        return _Report(filename)

    def find_executable_files(self, src_dir: str) -> Iterator[str]:
        """Programs that nothing has run yet."""
        return (str(path) for path in Path(src_dir).rglob("*.vibe"))


class _Traced(coverage.FileTracer):
    def __init__(self, filename: str) -> None:
        self._filename = filename

    def source_filename(self) -> str:
        return self._filename


class _Report(coverage.FileReporter):
    def lines(self) -> set[int]:
        """The lines that the compiled program has instructions for; none, where it cannot be compiled."""
        from antiphon.lang.run.modules import Modules

        code = Modules().load(self.filename).code
        return set() if code is None or code.main is None else set(_lines(code.main))


#: Instructions with which a function begins; they stand on the line of its head, where nothing else may be.
_BEGINNING = ("RESUME", "MAKE_CELL", "COPY_FREE_VARS")


def _lines(code: CodeType) -> Iterator[int]:
    """The lines of the functions in a module; the module's own code only defines them, as does what is around them."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for each in dis.get_instructions(constant) if constant.co_name != AROUND else ():
                if each.opname not in _BEGINNING and each.positions is not None and each.positions.lineno:
                    yield each.positions.lineno
            yield from _lines(constant)


def coverage_init(registry: Any, options: Any) -> None:  # noqa: ARG001
    """What coverage.py calls."""
    registry.add_file_tracer(Programs())
