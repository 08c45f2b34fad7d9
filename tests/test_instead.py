"""The scripts of "Instead of a script" do the same in both languages, and the page shows and counts them as they are.

Each case runs twice, in directories of its own, with the same answers of a model, of people and of other servers. What
is printed, which files are left, what was sent elsewhere, how often a model was asked, and how it ended must agree.
With UPDATE_GOLDEN set, scripts and what they print are written into the page instead of compared; lines are not.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import runpy
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon.cli import cli
from antiphon.cli.scripted_models import list_offered_tools, make_scripted_step
from antiphon.fakes import Call, Fail, Fake, Received, Step

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "examples" / "instead"
PAGE = SCRIPTS / "README.md"
NAMES = ["mail_triage", "csv_report", "api_digest", "log_summary", "rename_files", "label_issues"]

GITHUB = "https://api.github.com"

# What others say


@dataclass
class Web:
    """A server with some of GitHub's addresses, and what was sent to it."""

    url: str = ""
    sent: list[str] = field(default_factory=list)
    #: The issue whose labels cannot be set.
    broken: int = 0

    def answer(self, method: str, path: str, body: str, key: str) -> tuple[int, Any]:
        if method == "POST":
            self.sent.append(f"{path} {json.loads(body)} {key}")
            return (500, "broken") if f"/issues/{self.broken}/" in path else (200, [])
        if path == "/repos/acme/till/issues?state=open&per_page=100":
            return 200, ISSUES
        return (200, RELEASES[path]) if path in RELEASES else (404, {"message": "Not Found"})


def release(tag: str, day: str, body: str | None) -> dict[str, Any]:
    return {"id": 1, "tag_name": tag, "published_at": f"{day}T08:00:00Z", "body": body, "assets": []}


def issue(number: int, title: str, body: str | None, **more: Any) -> dict[str, Any]:
    return {"number": number, "title": title, "body": body, "labels": [], "user": {"login": "ada"}} | more


RELEASES = {
    "/repos/acme/ledger/releases": [
        release("v3.0.0", "2026-11-12", "Amounts are decimals. `Ledger.total` is gone: use `Ledger.sum`."),
        release("v2.9.1", "2026-11-04", "Fix rounding."),
        release("v2.9.0", "2026-10-01", None),
    ],
    "/repos/acme/teapot/releases": [release("v1.4.0", "2026-11-10", None)],
    "/repos/acme/quiet/releases": [release("v0.9.0", "2025-01-01", "Begin.")],
}
ISSUES = [
    issue(31, "Crash on an empty cart", "Open the app with nothing in the cart: it closes."),
    issue(32, "Dark theme", None),
    issue(33, "A question of taste", None, labels=[{"name": "question"}]),
    issue(34, "Mend the cart", "See #31.", pull_request={"url": "…"}),
    issue(35, "It does not work", "Please help."),
]


@pytest.fixture
def web() -> Iterator[Web]:
    there = Web()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            status, said = there.answer(self.command, self.path, body, self.headers.get("authorization", ""))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        do_GET = do_POST = answer

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there.url = f"http://127.0.0.1:{server.server_port}"
        yield there
        server.shutdown()


class Stage:
    """A model that says what the case notes for requests with a text in them, and keeps how often it was asked."""

    def __init__(self) -> None:
        self.lines: dict[str, list[Any]] = {}
        self.asked = 0
        self.fake = Fake(self._steps())

    def _steps(self) -> Iterator[Callable[[Received], Step]]:
        while True:
            yield self._say

    def _say(self, received: Received) -> Step:
        self.asked += 1
        asked = json.dumps(received.body["input"])
        steps = next((steps for text, steps in self.lines.items() if text in asked and steps), None)
        if steps is None:
            # It is not tried again.
            return Fail(400, "nothing is left to say")
        value = steps.pop(0)
        tools = list_offered_tools(received.body)
        if isinstance(value, dict) and "tool" not in value and "final_result" in tools:
            return Call("final_result", value)
        return make_scripted_step(value, tools)


@pytest.fixture
def stage() -> Iterator[Stage]:
    there = Stage()
    with there.fake:
        yield there


# Cases


@dataclass(frozen=True)
class Case:
    """A call of a script: its flags as they are typed, and what models say to requests with a text in them."""

    name: str
    flags: str
    answers: dict[str, list[Any]] = field(default_factory=dict)
    human: str = ""
    code: int = 0
    #: What standard error has to tell, where it fails.
    tells: str = ""
    broken: int = 0
    files: dict[str, str] = field(default_factory=dict)
    #: What the page shows of what it leaves.
    shows: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.flags}{self.human and ' < '}{self.human}{' failing' * bool(self.broken)}"


TRIAGE = {
    "Maria": [
        {"sender": "Maria Lopez", "topic": "billing", "due": "today", "request": "Refund one of two charges."},
        "Dear Maria, one of the two charges goes back to your card today.",
    ],
    "Sven": [
        {"sender": "Sven Berg", "topic": "question", "due": "some time", "request": "Export orders, all of them."}
    ],
    "prize": [{"sender": "Win Big", "topic": "spam", "due": "today", "request": "Claim a prize."}],
    # The first is no answer: Friday is not among the words.
    "Aiko": [
        {"sender": "Aiko Tanaka", "topic": "bug", "due": "Friday", "request": "Mend the empty cart."},
        {"sender": "Aiko Tanaka", "topic": "bug", "due": "this week", "request": "Mend the empty cart."},
    ],
}
REPORT = {
    "What stands out": [
        {
            "headline": "The South sold most, and most of it in October.",
            "findings": ["60 blue cups brought 435.00.", "Green tea in the North fell from 40 to 12."],
        }
    ]
}
BAD = "date,region,product,units,price\n2026-09-03,North,green tea,many,4.50\n"
NEWS = {
    "acme/ledger": [
        {
            "summary": "Amounts are decimals now.",
            "breaking": True,
            "todo": "Replace Ledger.total by Ledger.sum.",
        }
    ],
    "acme/teapot": [{"summary": "It says nothing of what changed.", "breaking": False, "todo": None}],
}
SUMMARY = {
    "The log has": [
        {"tool": "lines", "args": {"first": 1, "last": 11}},
        {"tool": "search", "args": {"pattern": "no space ("}},
        {"tool": "search", "args": {"pattern": "no space"}},
        {
            "cause": "The nightly backup filled /var, so that the database could not write.",
            "evidence": [5, 6, 8, 900],
            "next": "Turn retention on, and give backups a disk of their own.",
        },
    ]
}
DAY = "2026-09-03"
SCANS = {
    "scan_0001.txt": [{"day": DAY, "title": "Invoice, electricity"}],
    "scan_0002.txt": [{"day": None, "title": "Rent rise from 2027!"}],
    "scan_0003": [{"day": DAY, "title": "Invoice electricity"}],
    "pancakes.txt": [{"day": None, "title": "Pancakes"}],
}
VERDICTS = {
    "Crash": [{"label": "bug", "confidence": 0.97, "reason": "it closes"}],
    "Dark": [{"label": "enhancement", "confidence": 0.9, "reason": "something new"}],
    "help": [{"label": "bug", "confidence": 0.4, "reason": "it says too little"}],
}
#: The first case of a script is the one on the page.
CASES = [
    Case(
        "mail_triage",
        "--folder mails --table mails.csv --drafts drafts",
        TRIAGE,
        shows=("drafts/1.eml.txt", "mails.csv"),
    ),
    Case("mail_triage", "--folder scans", code=1, tells="there are no .eml files in scans"),
    Case("csv_report", "--file sales.csv", REPORT, shows=("report.md",)),
    Case("csv_report", "--file sales.csv --by product --out product.md", REPORT),
    Case("csv_report", "--file nothing.csv", code=1, tells="nothing.csv"),
    Case("csv_report", "--file bad.csv", code=1, tells="units", files={"bad.csv": BAD}),
    Case("csv_report", "--file sales.csv --by year", code=2, tells="product"),
    Case(
        "api_digest",
        "--repos acme/ledger --repos acme/teapot --repos acme/quiet --repos acme/gone --since 2026-11-01",
        NEWS,
    ),
    Case("log_summary", "--file app.log", SUMMARY),
    Case("log_summary", "--file nothing.log", code=1, tells="nothing.log"),
    Case("rename_files", "--folder scans --dry-run", SCANS),
    Case("rename_files", "--folder scans", SCANS, human="yes"),
    Case("rename_files", "--folder scans", SCANS, human="no"),
    Case("rename_files", "--folder nowhere", code=1, tells="nowhere"),
    Case("rename_files", "--dry-run", code=2, tells="--folder"),
    Case("label_issues", "--repo acme/till --apply", VERDICTS),
    Case("label_issues", "--repo acme/till --sure 0.4", VERDICTS),
    Case("label_issues", "--repo acme/till --apply", VERDICTS, code=1, tells="500", broken=32),
    Case("label_issues", "--repo acme/nothing", code=1, tells="404"),
]

# Running them


@dataclass
class Ended:
    """What came of a script."""

    code: int
    out: str
    error: str
    files: dict[str, str] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    asked: int = 0


def in_vibe(name: str, flags: list[str], human: str) -> Ended:
    """As a program. One that waits for an answer has ended; it gets it later, and goes on."""
    commands = [["run", "--model", "openai/gpt-5-mini", f"{name}.vibe", *flags]]
    if human:
        commands += [["answer", "last", human], ["resume", "last"]]
    done = [CliRunner().invoke(cli, each) for each in commands]
    assert not human or done[0].exit_code == 3
    return Ended(done[-1].exit_code, done[0].stdout + done[-1].stdout * (len(done) > 1), done[-1].stderr)


def in_python(name: str, flags: list[str], human: str) -> Ended:
    out, error, code = io.StringIO(), io.StringIO(), None
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(error):
        patch.setattr(sys, "argv", [f"{name}.py", *flags])
        patch.setattr(sys, "stdin", io.StringIO(f"{human}\n"))
        try:
            runpy.run_path(f"{name}.py", run_name="__main__")
        except SystemExit as end:
            code = end.code
    if isinstance(code, str):
        return Ended(1, out.getvalue(), f"{error.getvalue()}{code}\n")
    return Ended(code or 0, out.getvalue(), error.getvalue())


def ended(run: Callable[[str, list[str], str], Ended], case: Case, place: Path, web: Web, stage: Stage) -> Ended:
    """What comes of a case, in a directory with what lies beside the scripts."""
    shutil.copytree(SCRIPTS, place, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in case.files.items():
        (place / name).write_text(text, encoding="utf-8")
    before = left(place)
    web.sent, web.broken = [], case.broken
    stage.asked, stage.lines = 0, {text: list(steps) for text, steps in case.answers.items()}
    flags = [*case.flags.split(), *(["--api", web.url] if case.name in ("api_digest", "label_issues") else [])]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("OPENAI_BASE_URL", stage.fake.base_url("openai-responses"))
        patch.setenv("OPENAI_API_KEY", "any")
        patch.setenv("GITHUB_TOKEN", "ghp_4711")
        patch.setenv("ANTIPHON_DB", f"{place}.db")
        end = run(case.name, flags, case.human)
    after = left(place)
    end.files = {name: after.get(name, "removed") for name in before | after if before.get(name) != after.get(name)}
    end.sent, end.asked = web.sent, stage.asked
    return end


def left(place: Path) -> dict[str, str]:
    files = (path for path in place.rglob("*") if path.is_file())
    return {path.relative_to(place).as_posix(): path.read_text(encoding="utf-8") for path in files}


def out_of(end: Ended) -> str:
    """What was printed, but for a question, which goes elsewhere there, and the words for what others have refused."""
    text = re.sub(r"^Rename .*\? (?=\w)", "", end.out, flags=re.MULTILINE)
    return re.sub(r"(?<=cannot be read: ).*(\nFor more information.*)?", "…", text)


def test_the_scripts_do_the_same_in_both_languages(
    subtests: pytest.Subtests, tmp_path: Path, web: Web, stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    # One test: pydantic-ai takes long to import, and each process that tests would do so. Nothing here speaks TLS, and
    # certificates that each client reads anew cost more than all the rest.
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    for at, case in enumerate(CASES):
        with subtests.test(str(case)):
            one = ended(in_vibe, case, tmp_path / f"{at}.vibe", web, stage)
            other = ended(in_python, case, tmp_path / f"{at}.python", web, stage)
            _is_the_same(case, one, other)
            if case is next(each for each in CASES if each.name == case.name):
                shown = "".join(f"$ cat {name}\n{one.files[name]}" for name in case.shows)
                _compare(f"$ antiphon run {case.name}.vibe {case.flags}\n", one.out.replace(web.url, GITHUB) + shown)
    for name in NAMES:
        with subtests.test(f"{name} --help"):
            asked = Case(name, "--help")
            one = ended(in_vibe, asked, tmp_path / f"{name}.vibe", web, stage)
            other = ended(in_python, asked, tmp_path / f"{name}.python", web, stage)
            assert {"--help", *_flags(one)} == _flags(other)


def _is_the_same(case: Case, one: Ended, other: Ended) -> None:
    assert (one.code, other.code) == (case.code, case.code), one.error + other.error
    assert out_of(one) == out_of(other)
    assert (one.files, one.sent, one.asked) == (other.files, other.sent, other.asked)
    assert case.tells in one.error
    assert case.tells in other.error


def _flags(end: Ended) -> set[str]:
    """The flags that a script tells of; above them stand those of antiphon."""
    told = re.split(r"^(?:The program .*|options):\n", end.out, flags=re.MULTILINE)[1]
    return set(re.findall(r"^ +(?:-h, )?(--[\w-]+)", told, re.MULTILINE))


# The page


def _compare(above: str, new: str) -> None:
    """What stands on the page behind some lines, up to the end of the block."""
    text = PAGE.read_text(encoding="utf-8")
    before, found, rest = text.partition(f"\n{above}")
    assert found, f"the page does not show {above!r}"
    old, fence, after = rest.partition("```\n")
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(f"{before}{found}{new}{fence}{after}", encoding="utf-8")
    else:
        assert old == new


@pytest.mark.parametrize("file", [f"{name}.{ending}" for name in NAMES for ending in ("vibe", "py")])
def test_the_page_shows_a_script_as_it_is(file: str):
    language = "vibe" if file.endswith(".vibe") else "python"
    text = (SCRIPTS / file).read_text(encoding="utf-8")
    _compare(f"<!-- source: examples/instead/{file} -->\n```{language}\n", text)


def test_the_page_counts_lines_as_it_says():
    page = PAGE.read_text(encoding="utf-8")
    told = re.findall(r"^\| \[(\w+)\]\(#[\w-]+\) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    counted = {name: (_lines_of_vibe(name), _lines_of_python(name)) for name in NAMES}
    assert {name: (int(one), int(other)) for name, one, other in told} == counted
    vibe, python = (sum(each) for each in zip(*counted.values(), strict=True))
    assert f"| all | {vibe} | {python} |" in page
    imports, more = _with(r"^import ", "vibe"), _with(r"^(import|from) ", "py")
    frame = _with(r"ArgumentParser|parse_args|def main|__main__|^    (asyncio\.run\()?main\(", "py")
    said = f"imports ({imports} and {more} lines), and the argument parser, `main` and its guard ({frame} lines)."
    left = f"Without these it is {vibe - imports} lines to {python - more - frame}."
    assert f"{said} {left}" in page.replace("\n", " ")


def _with(pattern: str, ending: str) -> int:
    """How many lines of all files have something."""
    texts = ((SCRIPTS / f"{name}.{ending}").read_text(encoding="utf-8") for name in NAMES)
    return sum(bool(re.search(pattern, line)) for text in texts for line in text.splitlines())


def _lines_of_vibe(name: str) -> int:
    lines = (SCRIPTS / f"{name}.vibe").read_text(encoding="utf-8").splitlines()
    return sum(bool(line.strip()) and not line.strip().startswith("//") for line in lines)


def _lines_of_python(name: str) -> int:
    text = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    said = {at for node in ast.walk(ast.parse(text)) for at in _documented(node)}
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and at not in said for at, line in lines)


def _documented(node: ast.AST) -> range:
    """The lines of a docstring."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
        return range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    return range(0)
