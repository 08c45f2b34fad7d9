"""User-defined tools: functions of a Python file that the user names when a program is started."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon.tools.tool import Tool, ToolDefinitionError, as_tool, as_tools

_TOOL_REFERENCE = re.compile(r"(?P<file>.+?\.py)(?::(?P<function>[^:/\\]*))?")


def load_user_tools(named: str) -> list[Tool]:
    """Load the tools of `mytools.py`, or the one of `mytools.py:search`. This runs the file.

    The tools of a file are the functions marked with `@tool`, or else all its public functions.
    """
    file, function = _parse_tool_reference(named)
    module = load_python_file(Path(file))
    if function is None:
        there = [value for name, value in vars(module).items() if not name.startswith("_")]
        marked: list[Any] = [value for value in there if isinstance(value, Tool)]
        defined = [value for value in there if inspect.isfunction(value) and value.__module__ == module.__name__]
        # A function bound to two names is one tool.
        chosen = {id(each): each for each in marked or defined}.values()
        found = as_tools(_make_tool(value, module.__file__ or "") for value in chosen)
        if not found:
            raise ToolDefinitionError(f"{file} has no tools: no public function, and nothing marked with `@tool`")
        return found
    value = getattr(module, function, None)
    if value is None:
        meant = suggest_name(function, [name for name, each in vars(module).items() if callable(each)])
        hint = f"; did you mean `{file}:{meant}`?" if meant else ""
        raise ToolDefinitionError(f"there is no function `{function}` in {file}{hint}")
    return [_make_tool(value, file)]


def make_absolute_reference(named: str) -> str:
    """Return a tool reference with the absolute path of its file."""
    file, function = _parse_tool_reference(named)
    return os.path.abspath(file) + ("" if function is None else f":{function}")


def _parse_tool_reference(named: str) -> tuple[str, str | None]:
    found = _TOOL_REFERENCE.fullmatch(named)
    if found is None or found["function"] == "":
        raise ToolDefinitionError(
            f"`--tool` takes a Python file, or a function of one: `mytools.py`, `mytools.py:search`, not {named!r}"
        )
    return os.path.expanduser(found["file"]), found["function"]


def load_python_file(path: Path) -> ModuleType:
    """Import a Python file by its path and return its module; it is run once."""
    if not path.is_file():
        raise ToolDefinitionError(f"there is no file {str(path)!r}")
    place = path.resolve()
    name = f"{place.stem}_{hashlib.sha256(str(place).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None, "the name ends in .py"
    assert spec.loader is not None, "and so it has a loader"
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and annotations look up their module. Files beside it can be imported, but shadow nothing.
    sys.modules[name] = module
    if str(place.parent) not in sys.path:
        sys.path.append(str(place.parent))
    try:
        # Output of the file while it is loaded must not mix with an answer on stdout.
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ToolDefinitionError(f"{path} cannot be loaded: {_format_load_error(error, str(place))}") from None
    return module


def _format_load_error(error: BaseException, place: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == place:
        return f"line {error.lineno}: {error.msg}"
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == place:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f"line {line}: " if line else ""
    return where + f"{type(error).__name__}: {error}".strip(": ")


def _make_tool(value: Any, file: str) -> Tool:
    try:
        return as_tool(value)
    except ToolDefinitionError as error:
        raise ToolDefinitionError(f"{file}: {error}") from None
