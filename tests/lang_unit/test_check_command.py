"""`antiphon check`, `fmt` and `explain`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from antiphon.cli import cli
from antiphon.lang.typecheck.codes import list_codes
from tests.effort import calls_of
from tests.lang_unit.commands import antiphon


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_that_is_wrong_in_all_files_is_told_at_once(here: Path):
    (here / "inner" / ".hidden").mkdir(parents=True)
    (here / "inner" / ".hidden" / "c.vibe").write_text("prnt(1)")
    (here / "inner" / "a.vibe").write_text('let n: number = "x"\nprnt(n)')
    (here / "b.vibe").write_text("print(1)")
    (here / "notes.txt").write_text("prnt(1)")
    ran = antiphon("check", ".")
    assert ran.code == 1
    assert re.findall(r"error\[(V\d+)\]", ran.out) == ["V0301", "V0201"]
    assert "--> inner/a.vibe:2:1" in ran.out
    assert ran.out.endswith("2 files: 2 errors\n")


def test_warnings_alone_are_no_failure(here: Path):
    (here / "a.vibe").write_text("function f() {\n  let unused = 1\n}\nf()")
    ran = antiphon("check", "a.vibe")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "1 file: 1 warning")


def test_check_as_data(here: Path):
    (here / "a.vibe").write_text("prnt(1)")
    ran = antiphon("check", "a.vibe", "nosuch.vibe", "-", "--json", input="let x = py() { return 1 }\nprint(x)")
    report = json.loads(ran.out)
    assert (ran.code, report["files"], report["errors"]) == (2, 3, 2)
    assert {each["code"]: each["file"].rpartition("/")[2] for each in report["diagnostics"]} == {
        "V0201": "a.vibe",
        "V0601": "nosuch.vibe",
    }
    assert antiphon("check", "-", "--untrusted", input="print(py() { return 1 })").code == 1


def test_modules_that_import_each_other_are_told(here: Path):
    (here / "a.vibe").write_text('import { b } from "./b.vibe"\nexport const a = b')
    (here / "b.vibe").write_text('import { a } from "./a.vibe"\nexport const b = a')
    ran = antiphon("check", "a.vibe")
    assert ran.code == 1
    assert "a.vibe → b.vibe → a.vibe" in ran.out


def test_names_of_modules_may_be_anything(here: Path):
    (here / "a.vibe").write_text('import { a } from "./x\\u{0}y.vibe"\nimport { b } from "py:\\u{0}"\nprint(a, b)')
    assert antiphon("check", "a.vibe").code == 1


def test_fmt_writes_in_place_and_keeps_the_mode(here: Path):
    file = here / "a.vibe"
    file.write_text("let  x=1 // why\nprint( x )")
    file.chmod(0o750)
    assert antiphon("fmt", "--check", ".").code == 1
    shown = antiphon("fmt", "--diff", "a.vibe").out
    assert "-let  x=1 // why" in shown
    assert "+let x = 1 // why" in shown
    assert file.read_text() == "let  x=1 // why\nprint( x )"
    assert antiphon("fmt", "a.vibe").out == "changed a.vibe\n"
    assert file.read_text() == "let x = 1 // why\nprint(x)\n"
    assert file.stat().st_mode & 0o777 == 0o750
    assert (antiphon("fmt", ".").out, antiphon("fmt", "--check", ".").code) == ("", 0)


def test_fmt_goes_on_after_a_file_that_is_wrong(here: Path):
    (here / "a.vibe").write_text("let = =")
    (here / "b.vibe").write_text("print( 1 )")
    ran = antiphon("fmt", ".")
    assert (ran.code, ran.out) == (2, "changed ./b.vibe\n")
    assert "a.vibe:1:" in ran.err
    assert (here / "a.vibe").read_text() == "let = ="


def test_fmt_through_a_pipe():
    assert antiphon("fmt", "-", input="print( 1 )").out == "print(1)\n"


def test_a_code_is_explained():
    assert antiphon("explain", "v0301").out.startswith("V0301: Wrong type\n")
    report = json.loads(antiphon("explain", "V0928", "--json").out)
    assert (report["code"], report["title"]) == ("V0928", "An assertion does not hold")
    assert antiphon("explain").out.splitlines()[0] == "V0101  " + list_codes()["V0101"]
    assert json.loads(antiphon("explain", "--json").out) == list_codes()


def test_a_code_that_is_none_is_not_explained():
    ran = antiphon("explain", "V0939")
    assert ran.code == 2
    assert "did you mean V09" in ran.err
    assert "\x1b" not in antiphon("explain", "\x1b[31m").err


def test_the_help_lists_every_command_with_its_line():
    shown = antiphon("--help").out
    for name in ("run", "check", "show", "setup"):
        assert re.search(rf"^  {name} +\w", shown, re.MULTILINE), name
    assert cli.get_command(cli.make_context("antiphon", ["--help"], resilient_parsing=True), "nosuch") is None


@pytest.mark.parametrize(("begin", "mistake", "end"), [("", "nope\n", ""), ('print("', "{nope}" + "x" * 30, '")')])
def test_the_effort_to_tell_many_mistakes_grows_with_their_number(begin: str, mistake: str, end: str, here: Path):
    def effort(times: int) -> int:
        (here / "many.vibe").write_text(begin + mistake * times + end)
        found: list[str] = []
        made = calls_of(lambda: found.append(antiphon("check", "many.vibe").out))
        assert f"{times} errors" in found[0]
        return made

    effort(10)
    assert effort(3200) < 3 * effort(1600)


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("const n: text = 1 + 2", "`(1 + 2).toString()`"),
        ("const a = [1]\nif a + a { print(a) }", "`(a + a).length > 0`"),
        ('for x in "a" + "b" { print(x) }', '`("a" + "b").lines()`'),
        ('try { throw "x" } catch (e) { print(e) }', "`catch error { … }`"),
        ("for (const x of [1]) { print(x) }", "`for x in xs { … }`"),
        ("print(1 not in [2])", "`not x in xs`"),
    ],
)
def test_hints_are_code_that_can_be_written(program: str, hint: str):
    assert hint in antiphon("check", "-", input=program).out
