"""The page about many machines: its code runs, its commands are taken, its numbers add up."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from antiphon.cli.worker import worker
from antiphon.durable import Dispatcher, Journal
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
    assert {each.id: each.state for each in Journal(postgres).list_runs()} == {
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
    monkeypatch.setenv("ANTIPHON_DB", postgres)
    with working(postgres):
        until(lambda: Dispatcher(postgres).metrics().workers)
        ran = 0
        for _, *words in (each for each in commands if each[0] == "antiphon" and each[1] != "worker"):
            done = antiphon(*(words[: words.index(">")] if ">" in words else words))
            assert done.code == 0, done.err
            ran += 1
    assert ran == 3


def test_what_the_page_shows_of_the_status_is_what_is_shown(postgres: str) -> None:
    (shown,) = re.findall(r"^<!-- status -->\n```text\n\$ antiphon worker --status\n(.*?)^```", PAGE, re.M | re.DOTALL)
    Journal(postgres).begin("test", "r", id="r", state="ready")
    from antiphon.storage.postgres import PostgresDatabase

    # Of a worker that has just been heard of.
    PostgresDatabase(postgres).transact(
        lambda connection: connection.execute(
            "INSERT INTO workers VALUES ('worker-1:4711:9', 8, 0, extract(epoch FROM clock_timestamp()))"
        )
    )
    told = antiphon("worker", "--status").out

    def shape(text: str) -> list[str]:
        return [re.sub(r"(?<=^sessions ).*|[\d.]+", "N", line) for line in text.splitlines()]

    assert shape(told) == shape(shown)


def taken(command: str) -> dict[str, object]:
    """The options of `antiphon worker`, as it takes them."""
    words = shlex.split(command)
    words = words[[Path(word).name for word in words].index("antiphon") + 1 :]
    assert words[0] == "worker"
    return worker.make_context("worker", words[1:]).params


#: Of the schema of compose files, what this one uses.
SERVICE = {
    *("image", "environment", "command", "volumes", "healthcheck", "working_dir", "depends_on", "restart"),
    *("stop_grace_period", "deploy"),
}


def test_the_compose_file_of_the_page_is_one_and_its_command_is_taken() -> None:
    yaml = pytest.importorskip("yaml")
    (text,) = blocks("yaml")
    file = yaml.safe_load(text)
    assert file.keys() == {"services", "volumes"}
    services = file["services"]
    for service in services.values():
        assert service.keys() <= SERVICE
    worker, db = services["worker"], services["db"]
    assert worker["depends_on"].keys() <= services.keys()
    assert db["volumes"][0].partition(":")[0] in file["volumes"]
    program, flag, line = shlex.split(worker["command"])
    assert (program, flag) == ("sh", "-c")
    options = taken(line.partition("exec ")[2])
    assert options["metrics"] == "0.0.0.0:9464"
    url = urlsplit(worker["environment"]["ANTIPHON_DB"])
    given = db["environment"]
    assert (url.username, url.password, url.hostname, url.path[1:]) == (
        *(given["POSTGRES_USER"], given["POSTGRES_PASSWORD"]),
        *("db", given["POSTGRES_DB"]),
    )
    # All of its workers have as many connections as the page says that they need.
    (most,) = re.findall(r"max_connections=(\d+)", db["command"])
    assert worker["deploy"]["replicas"] * (options["slots"] + 8) < int(most)


def test_the_unit_of_the_page_is_one_and_its_command_is_taken(tmp_path: Path) -> None:
    (text,) = blocks("ini")
    unit = configparser.RawConfigParser(delimiters=("=",), comment_prefixes=("#",))
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    options = taken(unit["Service"]["ExecStart"].replace("%i", "1"))
    assert (options["slots"], options["metrics"]) == (32, "9461")
    if (systemd := shutil.which("systemd-analyze")) is None:
        pytest.skip("there is no systemd here")
    file = tmp_path / "antiphon-worker@.service"
    file.write_text(text.replace("/srv/venv/bin/antiphon", sys.executable))
    told = subprocess.run([systemd, "verify", "--man=no", file], capture_output=True, text=True)
    assert (told.returncode, [line for line in told.stderr.splitlines() if file.name in line]) == (0, [])


def test_the_sizing_of_the_page_is_that_of_what_was_measured() -> None:
    """Each number of the first table that the second one reckons with is there as it was measured."""
    measured, reckoned = PAGE.partition("## A million sessions a day")[::2]

    def number(pattern: str, text: str) -> float:
        found = re.findall(pattern, text)
        assert found, pattern
        return float(found[0].replace(",", ""))

    assert number(r"\| memory of a worker \| ([\d.]+) MB", measured) == number(r"× ([\d.]+) MB", reckoned)
    assert number(r"halfway \| ([\d.]+) sessions/s", measured) == number(r"2 cores / ([\d.]+) sessions/s", reckoned)
    disk = number(r"\| disk for such a session \| ([\d.]+) KB", measured)
    assert number(r"small results \| 1,000,000 × ([\d.]+) KB", reckoned) == pytest.approx(disk * 5 / 3, rel=0.05)
    assert number(r"4 KB of results a step \| 1,000,000 × ([\d.]+) KB", reckoned) == pytest.approx(
        disk * 5 / 3 + 5 * 4, rel=0.05
    )
    assert number(r"\| connections \| 29 × ([\d.]+)", reckoned) == 32 + 8


def test_the_arithmetic_of_the_page_adds_up() -> None:
    sums = re.findall(r"^\| [^|]+\| ([\d,.]+)[^|]*? ([×/]) ([\d,.]+)[^|]*\| ([\d,.]+)[^|]*\|$", PAGE, re.MULTILINE)
    assert len(sums) >= 8
    for first, sign, second, result in sums:
        a, b, wanted = (float(each.replace(",", "")) for each in (first, second, result))
        got = a * b if sign == "×" else a / b
        assert got == pytest.approx(wanted, rel=0.05), (first, sign, second, result)
