"""The modules of the type checker and of the syntax import each other without cycles."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import antiphon.lang

LANG = Path(antiphon.lang.__file__).parent


def imported_modules(path: Path, modules: dict[str, Path]) -> set[str]:
    """Return the modules that a file imports, inside functions too, but not those only for type checkers."""
    todo: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    found: set[str] = set()
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            inner = {f"{node.module}.{each.name}" for each in node.names}
            found |= (inner & modules.keys()) or {node.module}
        todo += ast.iter_child_nodes(node)
    return found & modules.keys()


def find_cycle(folder: Path, package: str) -> list[str]:
    """Return the modules of an import cycle, or an empty list."""
    paths = {path: path.relative_to(folder).with_suffix("").parts for path in folder.rglob("*.py")}
    modules = {".".join((package, *(p for p in parts if p != "__init__"))): path for path, parts in paths.items()}
    graph = {name: imported_modules(path, modules) - {name} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("name", ["typecheck"])
def test_a_package_has_no_import_cycle(name: str) -> None:
    assert find_cycle(LANG / name, f"antiphon.lang.{name}") == []


def test_a_cycle_through_an_import_in_a_function_is_found(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text("from pack.second import b\n")
    (tmp_path / "second.py").write_text("def b():\n    from pack import first\n")
    assert set(find_cycle(tmp_path, "pack")) == {"pack.first", "pack.second"}
