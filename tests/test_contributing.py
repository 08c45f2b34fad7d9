"""Documents for contributors name files that exist; the table of packages in `CONTRIBUTING.md` is up to date.

`UPDATE_GOLDEN=1` writes the table.
"""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
SOURCE = ROOT / "src" / "antiphon"
_TABLE = re.compile(r"(?<=<!-- packages -->\n).*?(?=<!-- end of packages -->)", re.DOTALL)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
#: A word with a directory or with the suffix of a file; `<name>` matches any name.
_PATH = re.compile(
    r"(?<![\w./<>-])(?:[A-Za-z_.<][\w.<>-]*/[\w./<>-]*|[\w<>-]+\.(?:py|md|js|json|toml|txt|yml))(?![\w/])"
)


def list_layers() -> Iterator[str]:
    """Yield each package and module of the layers in `pyproject.toml` once, outermost first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers" and "containers" not in each)
    names = (name for layer in layers for name in re.findall(r"antiphon\.(\w+)", layer))
    yield from dict.fromkeys(names)


def read_first_sentence(file: Path) -> str:
    """Return the first sentence of a module's docstring on one line, without its full stop."""
    text = " ".join((ast.get_docstring(ast.parse(file.read_text())) or "").split())
    return re.split(r"\.(?:\s|$)", text, maxsplit=1)[0]


def build_table() -> str:
    """Return the table of packages in Markdown."""
    rows = ["| package | contents |", "|---|---|"]
    for name in list_layers():
        is_package = (SOURCE / name).is_dir()
        file = SOURCE / name / "__init__.py" if is_package else SOURCE / f"{name}.py"
        rows.append(f"| `{name}{'/' if is_package else '.py'}` | {read_first_sentence(file)} |")
    return "\n".join(rows) + "\n"


def test_the_table_lists_every_package():
    packages = {each.parent.name for each in SOURCE.glob("*/__init__.py")}
    assert packages | {"errors"} == set(list_layers())


def test_the_table_is_made_of_the_docstrings_of_the_packages():
    text = PAGE.read_text()
    if os.environ.get("UPDATE_GOLDEN"):
        text = _TABLE.sub(lambda _: build_table(), text)
        PAGE.write_text(text)
    assert _TABLE.findall(text) == [build_table()]


@pytest.mark.parametrize(
    ("page", "least"), [(PAGE, 100), (ROOT / "docs" / "design.md", 20)], ids=["contributing", "design"]
)
def test_every_path_exists(page: Path, least: int):
    text = page.read_text()
    code = [*_FENCE.findall(text), *re.findall(r"`([^`\n]+)`", _FENCE.sub("", text))]
    paths = {path for each in code for path in _PATH.findall(each) if not path.startswith(".venv")}
    assert len(paths) >= least
    assert {path for path in paths if not _exists(path)} == set()


def _exists(path: str) -> bool:
    pattern = re.sub(r"<\w+>", "*", path.rstrip("/"))
    return any(any(directory.glob(pattern)) for directory in (ROOT, SOURCE))
