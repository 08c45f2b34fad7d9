"""The models that the files of a project name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from antiphon._files import read_named_file
from antiphon.facts import find
from antiphon.providers.registry import PROVIDERS

_QUOTED = re.compile(r"""["']([\w@./:+-]{2,120})["']""")
#: Nobody writes more by hand.
_LARGEST = 10_000_000
_SUFFIXES = (".vibe", ".py", ".toml")
#: Directories that hold what others wrote.
_FOREIGN = ("node_modules", "site-packages", "__pycache__", "build", "dist")


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A place in a file that names a model, as `provider/name`."""

    file: Path
    line: int
    model: str


def find_models(path: Path) -> list[NamedModel]:
    """Return the places below a path that name a known model, in the order of files and lines."""
    files = [path] if path.is_file() else sorted(_files(path))
    return [each for file in files for each in _in_file(file)]


def _files(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        if path.name.startswith(".") or path.name in _FOREIGN or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix in _SUFFIXES:
            yield path


def _in_file(file: Path) -> Iterator[NamedModel]:
    try:
        text = read_named_file(file, _LARGEST).decode()
    except (OSError, UnicodeDecodeError):
        # A file that is no text names no model.
        return
    seen: set[tuple[int, str]] = set()
    for line, name in _python_texts(text) if file.suffix == ".py" else _quoted_texts(text):
        model = _known(name)
        if model and (line, model) not in seen:
            seen.add((line, model))
            yield NamedModel(file, line, model)


def _quoted_texts(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, name) for name in _QUOTED.findall(line))


def _python_texts(text: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        yield from _quoted_texts(text)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= 120:
            yield node.lineno, node.value


def _known(name: str) -> str:
    """Return `provider/name` if a text is the whole name of a known model."""
    provider, slash, model = name.partition("/")
    if slash and provider in PROVIDERS and provider != "local":
        return name if find(provider, model) else ""
    if slash or "-" not in name:
        return ""
    homes = ("anthropic", "openai", "google", "mistral", "deepseek", "xai")
    return next((f"{home}/{name}" for home in homes if find(home, name)), "")
