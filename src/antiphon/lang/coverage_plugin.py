"""Coverage of programs: a plug-in for coverage.py, which would otherwise parse a `.vibe` file as Python.

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

from antiphon.lang.codegen.compiler import WRAPPER_FUNCTION


class VibeCoveragePlugin(coverage.CoveragePlugin):
    """The coverage.py plug-in for `.vibe` files and their executable lines."""

    def file_tracer(self, filename: str) -> coverage.FileTracer | None:
        """Return a tracer for a `.vibe` file; its compiled code keeps the line numbers of the source."""
        return _VibeFileTracer(filename) if filename.endswith(".vibe") else None

    def file_reporter(self, filename: str) -> coverage.FileReporter | str:
        """Return the reporter of a program's file."""
        return _VibeFileReporter(filename)

    def find_executable_files(self, src_dir: str) -> Iterator[str]:
        """Yield the programs below a directory, including those that never ran."""
        return (str(path) for path in Path(src_dir).rglob("*.vibe"))


class _VibeFileTracer(coverage.FileTracer):
    def __init__(self, filename: str) -> None:
        self._filename = filename

    def source_filename(self) -> str:
        return self._filename


class _VibeFileReporter(coverage.FileReporter):
    def lines(self) -> set[int]:
        """Return the lines that have instructions in the compiled program; none if it cannot be compiled."""
        from antiphon.lang.runtime.modules import ModuleLoader

        code = ModuleLoader().load(self.filename).code
        return set() if code is None or code.main is None else set(_executable_lines(code.main))


#: Instructions at the start of every function; their line is that of its header, which has no code of its own.
_PROLOGUE_OPCODES = ("RESUME", "MAKE_CELL", "COPY_FREE_VARS")


def _executable_lines(code: CodeType) -> Iterator[int]:
    """Yield the lines of the functions in a module.

    The module's own code and the wrapper around the functions only define them, so their lines are left out.
    """
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for each in dis.get_instructions(constant) if constant.co_name != WRAPPER_FUNCTION else ():
                if each.opname not in _PROLOGUE_OPCODES and each.positions is not None and each.positions.lineno:
                    yield each.positions.lineno
            yield from _executable_lines(constant)


def coverage_init(registry: Any, options: Any) -> None:  # noqa: ARG001
    """Register the plug-in; coverage.py calls this."""
    registry.add_file_tracer(VibeCoveragePlugin())
