"""Imports from outside the language: Python modules and files, and the tools of the system."""

from __future__ import annotations

import ast
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon.lang.python_files import PythonSources, read_python_source, run_python_file
from antiphon.lang.runtime.errors import ImportFailed
from antiphon.lang.runtime.system.process import FINISHED
from antiphon.lang.runtime.values import from_python
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.symbols import ModuleExports, Symbol

_UNCHECKED_SIGNATURE = t.CallableType((), 0, t.JSON, is_unchecked=True)
#: The system tools, by their names in programs; the values are their names in `antiphon.tools.builtin`.
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
#: The return types of those that do not return text.
_TOOL_RETURN_TYPES: dict[str, t.Type] = {
    "listFiles": t.Array(t.TEXT),
    "globFiles": t.Array(t.TEXT),
    "grepFiles": t.Array(
        t.Object(
            {"file": t.ObjectField(t.TEXT), "line": t.ObjectField(t.NUMBER), "text": t.ObjectField(t.TEXT)}, "Found"
        )
    ),
    "gitStatus": t.Object(
        {
            "branch": t.ObjectField(t.TEXT),
            "ahead": t.ObjectField(t.NUMBER),
            "behind": t.ObjectField(t.NUMBER),
            "staged": t.ObjectField(t.Array(t.TEXT)),
            "modified": t.ObjectField(t.Array(t.TEXT)),
            "untracked": t.ObjectField(t.Array(t.TEXT)),
            "conflicted": t.ObjectField(t.Array(t.TEXT)),
        },
        "Status",
    ),
    "gitLog": t.Array(
        t.Object(
            {
                "hash": t.ObjectField(t.TEXT),
                "date": t.ObjectField(t.TEXT),
                "author": t.ObjectField(t.TEXT),
                "subject": t.ObjectField(t.TEXT),
            },
            "Commit",
        )
    ),
    "runShell": FINISHED,
}
TOOL_BUNDLES = ("readonlyTools", "allTools")


def make_system_tool_exports() -> ModuleExports:
    """Return the exports of `system/tools`."""
    types = {
        name: t.CallableType((), 0, _TOOL_RETURN_TYPES.get(name, t.TEXT), is_unchecked=True) for name in SYSTEM_TOOLS
    }
    names = {name: Symbol(name, "tool", type_, exported=True) for name, type_ in types.items()}
    names |= {name: Symbol(name, "const", t.Array(t.TOOL), exported=True) for name in TOOL_BUNDLES}
    return ModuleExports(names)


def get_system_tool(name: str) -> Any:
    """Return a tool or a bundle of `system/tools`, for the current directory."""
    from antiphon.tools.builtin import read_only_tools

    if name == "readonlyTools":
        return read_only_tools()
    tools = _load_system_tools(os.getcwd())
    return list(tools.values()) if name == "allTools" else tools[SYSTEM_TOOLS[name]]


def get_untrusted_tool(name: str, directory: str | None) -> Any:
    """Return a tool or bundle for an untrusted program, restricted to the program's own directory.

    A program from a pipe has no directory; each call of its tools needs permission.
    """
    from antiphon.tools import Toolset
    from antiphon.tools.builtin import fetch_tool, file_tools

    kept = _load_system_tools(directory or os.getcwd())
    own = {tool.name: tool for tool in file_tools([directory or "."], wary=True)}
    # An approved address must not redirect to one that was not approved.
    own["fetch_url"] = fetch_tool(("*",), redirects=False)
    harmless = {tool: kept[tool] for tool in ("ask_user", "now")}
    tools = {tool.name: tool for tool in Toolset((kept | own).values()).requiring_approval()} | harmless
    if directory is not None:
        looking = ("read_file", "list_files", "glob_files", "grep_files", "git_status", "git_diff", "git_log")
        tools |= {tool: (kept | own)[tool] for tool in looking}
    if name == "readonlyTools":
        return [tool for tool in tools.values() if tool.read_only and tool.name != "fetch_url"]
    return list(tools.values()) if name == "allTools" else tools[SYSTEM_TOOLS[name]]


@cache
def _load_system_tools(root: str) -> dict[str, Any]:
    from antiphon.tools.builtin import all_tools

    return {tool.name: tool for tool in all_tools(root, shell_allow=("*",), fetch_allow=("*",))}


# Python


def read_python_exports(file: Path, path: str, files: PythonSources) -> ModuleExports:
    """Return what a Python file defines, with types from its annotations. The file is parsed, not run."""
    try:
        tree = ast.parse(files[file] if file in files else read_python_source(file))
    except OSError as error:
        return ModuleExports(problem=f"cannot read `{path}`: {error.strerror or error}")
    except (SyntaxError, ValueError, RecursionError) as error:
        said = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        return ModuleExports(problem=f"`{path}` is not valid Python: {said}")
    names: dict[str, Symbol] = {}
    complete = True
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = Symbol(node.name, "import", _infer_function_type(node), exported=True)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for name in _list_assigned_names(node):
                names[name] = Symbol(name, "import", t.JSON, exported=True)
        elif isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names):
            complete = False
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef | ast.If | ast.Try):
            complete = complete and not isinstance(node, ast.If | ast.Try)
            for name in _list_bound_names(node):
                names[name] = Symbol(name, "import", _UNCHECKED_SIGNATURE, exported=True)
    return ModuleExports(names, complete)


def _list_assigned_names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _list_bound_names(node: Any) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(each.asname or each.name).partition(".")[0] for each in node.names]
    return []


def _infer_function_type(node: ast.FunctionDef | ast.AsyncFunctionDef) -> t.Type:
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or node.decorator_list:
        return _UNCHECKED_SIGNATURE
    parameters = [*given.posonlyargs, *given.args]
    types = tuple(_convert_annotation(each.annotation) for each in parameters)
    names = tuple(each.arg for each in parameters)
    return t.CallableType(types, len(parameters) - len(given.defaults), _convert_annotation(node.returns), names=names)


_ANNOTATION_TYPES: dict[str, t.Type] = {
    "str": t.TEXT,
    "int": t.NUMBER,
    "float": t.NUMBER,
    "bool": t.BOOLEAN,
    "None": t.NULL,
}


def _convert_annotation(annotation: ast.expr | None) -> t.Type:
    """Convert an annotation to a type; `json` if there is no better one."""
    match annotation:
        case ast.Name(id=name) if name in _ANNOTATION_TYPES:
            return _ANNOTATION_TYPES[name]
        case ast.Constant(value=None):
            return t.NULL
        case ast.Constant(value=str(text)):
            try:
                return _convert_annotation(ast.parse(text, mode="eval").body)
            except (SyntaxError, ValueError):
                return t.JSON
        case ast.Name(id="list" | "tuple"):
            return t.Array(t.JSON)
        case ast.Subscript(value=ast.Name(id="list" | "List" | "Sequence" | "Iterable"), slice=inner):
            return t.Array(_convert_annotation(inner))
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _make_nullable(_convert_annotation(inner))
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _make_nullable(_convert_annotation(left))
        case _:
            return t.JSON


def _make_nullable(type_: t.Type) -> t.Type:
    return type_ if type_ == t.JSON else t.make_nullable(type_)


@dataclass(slots=True)
class PythonModuleCache:
    """Python modules and files, each imported once in a run."""

    loaded: dict[str, Any] = field(default_factory=dict[str, Any])

    def get(self, path: str, file: Path | None, name: str, read: Mapping[Path, PythonSources]) -> Any:
        """Return the value of a name in a module; files run with the text that was `read` before."""
        key = path if file is None else str(file)
        if key not in self.loaded:
            self.loaded[key] = _import_module(path.removeprefix("py:")) if file is None else _run_file(file, read[file])
        module = self.loaded[key]
        if not hasattr(module, name):
            near = suggest_name(name, (each for each in dir(module) if not each.startswith("_")))
            raise ImportFailed("V0602", f"`{path}` has no `{name}`", f"did you mean `{near}`?" if near else "")
        value = getattr(module, name)
        return value if callable(value) else from_python(value, f"`{path}`")


def _import_module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:
        hint = "is it installed where `antiphon` is?" if isinstance(error, ModuleNotFoundError) else ""
        raise ImportFailed("V0601", f"Python cannot import `{name}`: {error}", hint) from None


def _run_file(file: Path, files: PythonSources) -> Any:
    try:
        return run_python_file(file, files)
    except Exception as error:
        raise ImportFailed(
            "V0601", f"{file.name} failed when it was imported: {type(error).__name__}: {error}"
        ) from None
