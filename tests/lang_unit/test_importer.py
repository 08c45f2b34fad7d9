"""Programs from Python: `load`, `run`, and `import`."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import antiphon
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.importer import VibeFinder

RULES = """\
let calls = 0
export function called(): number { return calls }
export const limit = 3
export function double(n: number, times: number = 2, note: text = "-"): text {
  calls += 1
  return "${n * times}{note}"
}
export tool shout(s: text): text
  @description "Loud"
{
  return s.upper()
}
export type Person { name: text }
export function name(p: Person): text {
  return p.name
}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    known = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "vibe_rules.vibe").write_text(RULES)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    antiphon.install_importer()
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_functions_are_called_with_types():
    rules = importlib.import_module("vibe_rules")
    assert rules.__file__.endswith("vibe_rules.vibe")
    assert (rules.double(4), rules.double(4, note="!"), rules.double(times=3, n=1)) == ("8-", "8!", "3-")
    assert (rules.called(), rules.limit, rules.shout("a"), rules.name({"name": "Ada"})) == (3, 3, "A", "Ada")
    signature = inspect.signature(rules.double)
    assert (signature.parameters["n"].annotation, signature.return_annotation) == (float, str)
    assert rules.__all__ == ["called", "double", "limit", "name", "shout"]
    for wrong in ((), ("a",), (1, 2, "x", 4)):
        with pytest.raises((TypeError, VibeError)):
            rules.double(*wrong)
    with pytest.raises(AttributeError, match="nosuch"):
        _ = rules.nosuch


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (((), {}), "double() is not given n"),
        (((1, 2, "x", 4), {}), "double() takes 3 (n, times, note), got 4"),
        (((1,), {"tmies": 2}), "double() has no parameter 'tmies'; it has n, times, note"),
        ((("a",), {}), '`n`: expected number, found text "a"'),
        (((1,), {"note": 2}), "`note`: expected text, found number 2"),
    ],
)
def test_an_argument_that_is_wrong_is_named(given: tuple[tuple[object, ...], dict[str, object]], said: str):
    with pytest.raises((TypeError, VibeError)) as raised:
        importlib.import_module("vibe_rules").double(*given[0], **given[1])
    assert str(raised.value) == said


def test_packages_and_reloading(here: Path):
    (here / "vibe_package").mkdir()
    (here / "vibe_package" / "__init__.py").write_text("")
    file = here / "vibe_package" / "inner.vibe"
    file.write_text("export const one = 1")
    inner = importlib.import_module("vibe_package.inner")
    assert inner.one == 1
    file.write_text("export const one = 11\nexport const two = 2")
    importlib.reload(inner)
    assert (inner.one, inner.two) == (11, 2)


def test_what_is_wrong_with_a_program_is_in_the_import_error(here: Path):
    (here / "vibe_broken.vibe").write_text('let x: number = "a"\nprnt(x)')
    with pytest.raises(ImportError, match=r"(?s)V0301.*V0201"):
        importlib.import_module("vibe_broken")
    (here / "vibe_bytes.vibe").write_bytes(b"\xff")
    with pytest.raises(ImportError, match="UTF-8"):
        importlib.import_module("vibe_bytes")
    (here / "vibe_fails.vibe").write_text('throw "at import"')
    with pytest.raises(VibeError, match="at import"):
        importlib.import_module("vibe_fails")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("vibe_nosuch")


def test_installing_twice_is_installing_once():
    antiphon.install_importer()
    assert sum(isinstance(each, VibeFinder) for each in sys.meta_path) == 1


def test_programs_are_loaded_and_run_with_inputs(here: Path):
    path = here / "program.vibe"
    path.write_text("let n = 1\nlet tags: text[] = []\nn * 2")
    program = antiphon.load(path)
    assert program.run(n=4, tags=["a"]).value == 8
    assert program.run().value == antiphon.loads(path.read_text()).run().value == 2
    assert antiphon.run(path, n=5).variables == {"n": 5, "tags": []}
    with pytest.raises(VibeError, match="number"):
        antiphon.run(path, n="many")
