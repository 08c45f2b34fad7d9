"""Find the models that the files of a project mention."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from antiphon._base.files import read_named_file
from antiphon.facts import find
from antiphon.providers.registry import PROVIDERS

_QUOTED_NAME = re.compile(r"""["']([\w@./:+-]{2,120})["']""")
#: Nobody writes more by hand.
_LARGEST = 10_000_000
_SUFFIXES = (".vibe", ".py", ".toml")
#: Directories with third-party or generated files.
_SKIPPED_DIRECTORIES = ("node_modules", "site-packages", "__pycache__", "build", "dist")


@dataclass(frozen=True, slots=True)
class ModelMention:
    """A line of a file that mentions a model, as `provider/name`."""

    file: Path
    line: int
    model: str


def find_model_mentions(path: Path) -> list[ModelMention]:
    """Return the mentions of known models below a path, ordered by file and line."""
    files = [path] if path.is_file() else sorted(_iter_files(path))
    return [each for file in files for each in _iter_mentions(file)]


def _iter_files(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        if path.name.startswith(".") or path.name in _SKIPPED_DIRECTORIES or path.is_symlink():
            continue
        if path.is_dir():
            yield from _iter_files(path)
        elif path.suffix in _SUFFIXES:
            yield path


def _iter_mentions(file: Path) -> Iterator[ModelMention]:
    try:
        text = read_named_file(file, _LARGEST).decode()
    except (OSError, UnicodeDecodeError):
        # A binary file mentions no model.
        return
    seen: set[tuple[int, str]] = set()
    for line, name in _iter_python_texts(text) if file.suffix == ".py" else _iter_quoted_texts(text):
        model = _resolve_known(name)
        if model and (line, model) not in seen:
            seen.add((line, model))
            yield ModelMention(file, line, model)


def _iter_quoted_texts(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, name) for name in _QUOTED_NAME.findall(line))


def _iter_python_texts(text: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        yield from _iter_quoted_texts(text)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= 120:
            yield node.lineno, node.value


def _resolve_known(name: str) -> str:
    """Return `provider/name` if a text is the full name of a known model; else an empty text."""
    provider, slash, model = name.partition("/")
    if slash and provider in PROVIDERS and provider != "local":
        return name if find(provider, model) else ""
    if slash or "-" not in name:
        return ""
    homes = ("anthropic", "openai", "google", "mistral", "deepseek", "xai")
    return next((f"{home}/{name}" for home in homes if find(home, name)), "")
