"""What mistakes with modules look like: imports, cycles, Python that is not allowed, files that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.host import Host
from antiphon.lang.runtime.modules import ModuleLoader
from antiphon.lang.runtime.program import Program

GOLDEN = Path(__file__).parent.parent / "lang" / "golden_modules"
PROGRAMS = sorted(GOLDEN.glob("V*.vibe"))


def shown(path: Path) -> str:
    """All that is said of a program, by the checker or when it runs; files by their bare names."""
    modules = ModuleLoader(untrusted=path.stem == "V0603")
    try:
        main = modules.load(path)
        said = [each.render(source) for source, each in modules.list_problems()]
        error = None if main.code is None else Program(modules, main).attempt(Host(write=lambda _: None)).error
        said += [error.render()] if error is not None else []
    except VibeError as error:
        said = [error.render()]
    return ("\n".join(said) + "\n").replace(f"{GOLDEN.resolve()}{os.sep}", "")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_mistake_with_modules_looks_like_its_golden_file(path: Path):
    golden = path.with_suffix(".txt")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown(path), encoding="utf-8")
    assert shown(path) == golden.read_text(encoding="utf-8")
    assert f"[{path.stem.split('-')[0]}]" in shown(path)
