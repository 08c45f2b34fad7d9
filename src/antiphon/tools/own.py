"""Tools of one's own: functions of a Python file that somebody names where a program is begun."""

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

from antiphon._suggestions import nearest
from antiphon.tools.tool import Tool, ToolDefinitionError, as_tool, as_tools

_NAMED = re.compile(r"(?P<file>.+?\.py)(?::(?P<function>[^:/\\]*))?")


def own_tools(named: str) -> list[Tool]:
    """The tools of `mytools.py`, or the one of `mytools.py:search`. The file is run: it is named by who may run it.

    Of a file they are what is marked with `@tool`; where nothing is, the public functions that it defines.
    """
    file, function = _parts_of(named)
    module = _load(Path(file))
    if function is None:
        found = _public(module)
        if not found:
            raise ToolDefinitionError(f"{file} has no tools: no public function, and nothing marked with `@tool`")
        return found
    value = getattr(module, function, None)
    if value is None:
        meant = nearest(function, [name for name, each in vars(module).items() if callable(each)])
        hint = f"; did you mean `{file}:{meant}`?" if meant else ""
        raise ToolDefinitionError(f"there is no function `{function}` in {file}{hint}")
    return [_made(value, file)]


def full_name(named: str) -> str:
    """The same by a path that means the same in every directory."""
    file, function = _parts_of(named)
    return os.path.abspath(file) + ("" if function is None else f":{function}")


def _parts_of(named: str) -> tuple[str, str | None]:
    found = _NAMED.fullmatch(named)
    if found is None or found["function"] == "":
        raise ToolDefinitionError(
            f"`--tool` takes a Python file, or a function of one: `mytools.py`, `mytools.py:search`, not {named!r}"
        )
    return os.path.expanduser(found["file"]), found["function"]


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        raise ToolDefinitionError(f"there is no file {str(path)!r} to take tools from")
    place = path.resolve()
    name = f"{place.stem}_{hashlib.sha256(str(place).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None, "the name ends in .py"
    assert spec.loader is not None, "and so it has a loader"
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and annotations look their module up; what lies beside it is found, but hides nothing.
    sys.modules[name] = module
    if str(place.parent) not in sys.path:
        sys.path.append(str(place.parent))
    try:
        # What a file prints while it is loaded is no part of an answer.
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ToolDefinitionError(f"{path} cannot be loaded: {_reason(error, str(place))}") from None
    return module


def _reason(error: BaseException, place: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == place:
        return f"line {error.lineno}: {error.msg}"
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == place:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f"line {line}: " if line else ""
    return where + f"{type(error).__name__}: {error}".strip(": ")


def _public(module: ModuleType) -> list[Tool]:
    there = [value for name, value in vars(module).items() if not name.startswith("_")]
    marked: list[Any] = [value for value in there if isinstance(value, Tool)]
    defined = [value for value in there if inspect.isfunction(value) and value.__module__ == module.__name__]
    # One that has two names is still one.
    return as_tools(
        _made(value, module.__file__ or "") for value in {id(each): each for each in marked or defined}.values()
    )


def _made(value: Any, file: str) -> Tool:
    try:
        return as_tool(value)
    except ToolDefinitionError as error:
        raise ToolDefinitionError(f"{file}: {error}") from None
