"""All SQL is in `antiphon.storage`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import antiphon

SOURCE = Path(antiphon.__file__).parent
#: The beginnings of statements, and their typical fragments.
SQL = re.compile(
    r"\bSELECT\s.+\sFROM\s|\bSELECT\s+(1|count|max|min|sum)\b|\bINSERT\s+(OR\s+\w+\s+)?INTO\b|\bREPLACE\s+INTO\b"
    r"|\bUPDATE\s+\w+\s+SET\b|\bDELETE\s+FROM\b|\b(CREATE|ALTER|DROP)\s+(TABLE|INDEX|TRIGGER|VIEW|VIRTUAL|UNIQUE)\b"
    r"|\bPRAGMA\s+\w|\bORDER\s+BY\b|\bIS\s+(NOT\s+)?NULL\b|\bBEGIN\s+IMMEDIATE\b|\s=\s\?|\bLIMIT\s+[{?\d]|^\s*FROM\s+\w+\s+WHERE\b",
    re.DOTALL,
)
#: Texts about other things: files, and the words that contain an example.
ALLOWED: dict[str, str] = {}


def find_strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the string constants of a module, without docstrings."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def find_sql(path: Path) -> list[str]:
    """Return the lines of a module that contain SQL."""
    tree = ast.parse(path.read_text("utf-8"))
    name = path.relative_to(SOURCE).as_posix()
    return [f"{name}:{line}: {text[:80]}" for line, text in find_strings(tree) if SQL.search(text)]


def test_only_storage_contains_sql() -> None:
    found = [
        each
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.is_relative_to(SOURCE / "storage") and path.relative_to(SOURCE).as_posix() not in ALLOWED
        for each in find_sql(path)
    ]
    assert found == []


def test_the_scan_finds_the_statements_of_storage() -> None:
    found = {each.partition(":")[0] for path in (SOURCE / "storage").rglob("*.py") for each in find_sql(path)}
    assert {"storage/sessions.py", "storage/steps.py", "storage/posts.py", "storage/postgres.py"} <= found
