"""The page about many machines: its code runs, its commands are taken, its numbers add up."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from antiphon.journal import Dispatcher, Journal
from tests.cli.test_work import until, working
from tests.lang_unit.commands import antiphon

PAGE = (Path(__file__).parents[1] / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def home(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", postgres)
    monkeypatch.chdir(tmp_path)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_code_of_the_page_runs(postgres: str) -> None:
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(compile(code, "scale.md", "exec"), names)
    assert {each.id: each.state for each in Journal(postgres).runs()} == {
        "part-0": "ready",
        "part-1": "ready",
        "part-2": "cancelled",
    }
    for name in ("part-0", "part-1"):
        names["execute"](name)  # type: ignore[operator]
    assert Journal(postgres).find("part-1").state == "done"


def test_the_commands_of_the_page_are_taken(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("nightly.vibe").write_text('sleep(0)\n"done"\n')
    Path("triage.vibe").write_text('let mail = ""\nsleep(0)\nmail\n')
    Path("mails.csv").write_text("mail\nfirst\nsecond\n")
    commands = [shlex.split(line, comments=True) for line in blocks("sh")[0].splitlines() if "antiphon " in line]
    monkeypatch.setenv("ANTIPHON_LOGS", "logs.db")
    with working(postgres):
        until(lambda: Dispatcher(postgres).metrics().workers)
        ran = 0
        for _, *words in (each for each in commands if each[0] == "antiphon" and each[1] != "work"):
            words = [postgres if word == "$ANTIPHON_DB" else word for word in words]
            done = antiphon(*(words[: words.index(">")] if ">" in words else words))
            assert done.code == 0, done.err
            ran += 1
    assert ran == 3


def test_what_the_page_shows_of_the_status_is_what_is_shown(postgres: str) -> None:
    (shown,) = re.findall(r"^<!-- status -->\n```text\n\$ antiphon work --status\n(.*?)^```", PAGE, re.M | re.DOTALL)
    Journal(postgres).begin("test", "r", id="r", state="ready")
    from antiphon.journal.postgres import Postgres

    # Of a worker that has just been heard of.
    Postgres(postgres).write(
        lambda connection: connection.execute(
            "INSERT INTO workers VALUES ('worker-1:4711:9', 8, 0, extract(epoch FROM clock_timestamp()))"
        )
    )
    told = antiphon("work", "--status").out

    def shape(text: str) -> list[str]:
        return [re.sub(r"(?<=^runs     ).*|[\d.]+", "N", line) for line in text.splitlines()]

    assert shape(told) == shape(shown)


def test_the_arithmetic_of_the_page_adds_up() -> None:
    sums = re.findall(r"^\| [^|]+\| ([\d,.]+)[^|]*? ([×/]) ([\d,.]+)[^|]*\| ([\d,.]+)[^|]*\|$", PAGE, re.MULTILINE)
    assert len(sums) >= 8
    for first, sign, second, result in sums:
        a, b, wanted = (float(each.replace(",", "")) for each in (first, second, result))
        got = a * b if sign == "×" else a / b
        assert got == pytest.approx(wanted, rel=0.05), (first, sign, second, result)
