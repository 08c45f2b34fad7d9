"""How far the rows of `antiphon map` are, as a terminal shows it."""

import re
import sys
from contextlib import closing, redirect_stderr
from pathlib import Path

import pytest

from antiphon.cli.batch import print_row_results
from antiphon.durable import Journal
from antiphon.lang.runtime import load
from antiphon.programs.batch import RowResult, begin_batch
from antiphon.programs.launch_spec import LaunchSpec
from tests.terminal.emulator import Emulator

_ROWS = [
    RowResult(1, "done", 1, "", 0.00001, "r.1"),
    RowResult(2, "failed", None, "broken", None, "r.2"),
    RowResult(3, "done", 3, "", 0.25, "r.3"),
]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Emulator:
    """For standard error; what is printed to standard output goes elsewhere."""
    emulator = Emulator(columns=80)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    return emulator


def _printed(results: list[RowResult], tmp_path: Path, terminal: Emulator | None = None) -> None:
    (tmp_path / "p.vibe").write_text("input x: number\nreturn x\n")
    program = load(tmp_path / "p.vibe")
    with closing(Journal(tmp_path / "journal.db")) as journal:
        begun = LaunchSpec(str(tmp_path / "p.vibe"), "", "p.vibe", {})
        id = begin_batch(journal, program, begun, [(number, {"x": number}) for number in (1, 2, 3)])
        with redirect_stderr(terminal or sys.stderr):
            print_row_results(journal, id, (each for each in results))


def _written(terminal: Emulator) -> str:
    # click tries with bytes whether it takes text.
    return "".join(each for each in terminal.pieces if isinstance(each, str))


def test_what_rows_cost_is_written_as_everywhere_and_a_line_stays(
    terminal: Emulator, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _printed(_ROWS, tmp_path, terminal)
    assert capfd.readouterr().out.count("\n") == 3
    drawn = _written(terminal)
    assert "0 of 3 rows" in drawn
    assert "\x1b[?25l" in drawn
    assert re.fullmatch(r"■ 3 of 3 rows · \$0\.25 · 1 not done  \d+(\.\d)?m?s", terminal.lines[1])
    assert terminal.lines[0] == "antiphon: row 2: broken"


def test_rows_that_cost_almost_nothing_do_not_cost_nothing(terminal: Emulator, tmp_path: Path) -> None:
    _printed(_ROWS[:1] * 3, tmp_path, terminal)
    assert terminal.lines[0].startswith("✓ 3 of 3 rows · <$0.0001  ")


def test_colours_can_be_forbidden(terminal: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _printed(_ROWS, tmp_path, terminal)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", _written(terminal))


def test_a_dumb_terminal_gets_the_last_line_alone(
    terminal: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    _printed(_ROWS, tmp_path, terminal)
    written = _written(terminal)
    assert "\x1b" not in written
    assert written.startswith("antiphon: row 2: broken\n■ 3 of 3 rows · ")


def test_where_nobody_looks_nothing_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _printed(_ROWS[:1], tmp_path)
    assert capsys.readouterr().err == ""
