"""Names from outside the language: Python's modules and files, and the tools of the system."""

from __future__ import annotations

import ast
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from antiphon._suggestions import nearest
from antiphon.lang.check.symbols import Exports, Symbol
from antiphon.lang.check.types import BOOLEAN, JSON, NULL, NUMBER, TEXT, TOOL, Array, Field, Object, Type, nullable
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.pyfiles import Files, read_python, run_python
from antiphon.lang.run.errors import ImportFailed
from antiphon.lang.run.system.process import FINISHED

_ANY_CALL = Signature((), 0, JSON, unchecked=True)
#: The tools of the system, by the names programs use; each is what `antiphon.tools.builtin` calls it.
SYSTEM_TOOLS = {
    "readFile": "read_file",
    "listFiles": "list_files",
    "globFiles": "glob_files",
    "grepFiles": "grep_files",
    "writeFile": "write_file",
    "editFile": "edit_file",
    "gitStatus": "git_status",
    "gitDiff": "git_diff",
    "gitLog": "git_log",
    "runShell": "run_shell",
    "fetchUrl": "fetch_url",
    "askUser": "ask_user",
    "currentTime": "now",
}
#: What those give that give no text.
_GIVEN: dict[str, Type] = {
    "listFiles": Array(TEXT),
    "globFiles": Array(TEXT),
    "grepFiles": Array(Object({"file": Field(TEXT), "line": Field(NUMBER), "text": Field(TEXT)}, "Found")),
    "gitStatus": Object(
        {
            "branch": Field(TEXT),
            "ahead": Field(NUMBER),
            "behind": Field(NUMBER),
            "staged": Field(Array(TEXT)),
            "modified": Field(Array(TEXT)),
            "untracked": Field(Array(TEXT)),
            "conflicted": Field(Array(TEXT)),
        },
        "Status",
    ),
    "gitLog": Array(
        Object({"hash": Field(TEXT), "date": Field(TEXT), "author": Field(TEXT), "subject": Field(TEXT)}, "Commit")
    ),
    "runShell": FINISHED,
}
BUNDLES = ("readonlyTools", "allTools")


def system_exports() -> Exports:
    """What `system/tools` gives."""
    types = {name: Signature((), 0, _GIVEN.get(name, TEXT), unchecked=True) for name in SYSTEM_TOOLS}
    names = {name: Symbol(name, "tool", type_, exported=True) for name, type_ in types.items()}
    names |= {name: Symbol(name, "const", Array(TOOL), exported=True) for name in BUNDLES}
    return Exports(names)


def system_tool(name: str) -> Any:
    """A tool or a bundle of `system/tools`, for the current directory."""
    from antiphon.tools.builtin import read_only_tools

    if name == "readonlyTools":
        return read_only_tools()
    tools = _system_tools(os.getcwd())
    return list(tools.values()) if name == "allTools" else tools[SYSTEM_TOOLS[name]]


def untrusted_tool(name: str, directory: str | None) -> Any:
    """The same for a program that is not trusted: for its own directory alone, and wary there.

    A program that came through a pipe has no directory; each call of its tools is asked about.
    """
    from antiphon.tools import requiring_approval
    from antiphon.tools.builtin import fetch_tool, file_tools

    kept = _system_tools(directory or os.getcwd())
    own = {tool.name: tool for tool in file_tools([directory or "."], wary=True)}
    # An address that was named may not lead on to one that was not.
    own["fetch_url"] = fetch_tool(("*",), redirects=False)
    harmless = {tool: kept[tool] for tool in ("ask_user", "now")}
    tools = {tool.name: tool for tool in requiring_approval((kept | own).values())} | harmless
    if directory is not None:
        looking = ("read_file", "list_files", "glob_files", "grep_files", "git_status", "git_diff", "git_log")
        tools |= {tool: (kept | own)[tool] for tool in looking}
    if name == "readonlyTools":
        return [tool for tool in tools.values() if tool.read_only and tool.name != "fetch_url"]
    return list(tools.values()) if name == "allTools" else tools[SYSTEM_TOOLS[name]]


@cache
def _system_tools(root: str) -> dict[str, Any]:
    from antiphon.tools.builtin import all_tools

    return {tool.name: tool for tool in all_tools(root, shell_allow=("*",), fetch_allow=("*",))}


# Python


def python_exports(file: Path, path: str, files: Files) -> Exports:
    """What a Python file defines, with types from its annotations. The file is read, not run."""
    try:
        tree = ast.parse(files[file] if file in files else read_python(file))
    except OSError as error:
        return Exports(problem=f"cannot read `{path}`: {error.strerror or error}")
    except (SyntaxError, ValueError, RecursionError) as error:
        said = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        return Exports(problem=f"`{path}` is no Python: {said}")
    names: dict[str, Symbol] = {}
    complete = True
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = Symbol(node.name, "import", _function_type(node), exported=True)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for name in _targets(node):
                names[name] = Symbol(name, "import", JSON, exported=True)
        elif isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names):
            complete = False
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef | ast.If | ast.Try):
            complete = complete and not isinstance(node, ast.If | ast.Try)
            for name in _bound(node):
                names[name] = Symbol(name, "import", _ANY_CALL, exported=True)
    return Exports(names, complete)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _bound(node: Any) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(each.asname or each.name).partition(".")[0] for each in node.names]
    return []


def _function_type(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Type:
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or node.decorator_list:
        return _ANY_CALL
    parameters = [*given.posonlyargs, *given.args]
    types = tuple(_annotated(each.annotation) for each in parameters)
    names = tuple(each.arg for each in parameters)
    return Signature(types, len(parameters) - len(given.defaults), _annotated(node.returns), names=names)


_NAMES: dict[str, Type] = {"str": TEXT, "int": NUMBER, "float": NUMBER, "bool": BOOLEAN, "None": NULL}


def _annotated(annotation: ast.expr | None) -> Type:
    """The type an annotation says; `json` for all that has no better word."""
    match annotation:
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.Constant(value=None):
            return NULL
        case ast.Constant(value=str(text)):
            try:
                return _annotated(ast.parse(text, mode="eval").body)
            except (SyntaxError, ValueError):
                return JSON
        case ast.Name(id="list" | "tuple"):
            return Array(JSON)
        case ast.Subscript(value=ast.Name(id="list" | "List" | "Sequence" | "Iterable"), slice=inner):
            return Array(_annotated(inner))
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _optional(_annotated(inner))
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _optional(_annotated(left))
        case _:
            return JSON


def _optional(type_: Type) -> Type:
    return type_ if type_ == JSON else nullable(type_)


@dataclass(slots=True)
class PythonModules:
    """Python's modules and files, each imported once in a run."""

    loaded: dict[str, Any] = field(default_factory=dict[str, Any])

    def get(self, path: str, file: Path | None, name: str, read: Mapping[Path, Files]) -> Any:
        """What a name stands for in a module; files are run as they were `read`."""
        from antiphon.lang.run.values import from_python

        key = path if file is None else str(file)
        if key not in self.loaded:
            self.loaded[key] = _import_name(path.removeprefix("py:")) if file is None else _run(file, read[file])
        module = self.loaded[key]
        if not hasattr(module, name):
            near = nearest(name, (each for each in dir(module) if not each.startswith("_")))
            raise ImportFailed("V0602", f"`{path}` has no `{name}`", f"did you mean `{near}`?" if near else "")
        value = getattr(module, name)
        return value if callable(value) else from_python(value, f"`{path}`")


def _import_name(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:
        hint = "is it installed where `antiphon` is?" if isinstance(error, ModuleNotFoundError) else ""
        raise ImportFailed("V0601", f"Python cannot import `{name}`: {error}", hint) from None


def _run(file: Path, files: Files) -> Any:
    try:
        return run_python(file, files)
    except Exception as error:
        raise ImportFailed(
            "V0601", f"{file.name} failed when it was imported: {type(error).__name__}: {error}"
        ) from None
