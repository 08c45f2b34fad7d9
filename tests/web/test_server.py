"""The server of the page: who may ask, what is answered, and what never is."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.routing import Mount

from antiphon.cli import cli
from antiphon.durable import Journal
from antiphon.effects import AskModel, AskPerson, EffectCall, HumanAnswer, ModelReplied, Outcome, Print
from antiphon.effects.pipeline import private_effects
from antiphon.errors import ConfigurationError, OptionError
from antiphon.programs.launch_spec import LaunchSpec
from antiphon.results import Result, file_content, structured, table
from antiphon.web import app
from antiphon.web.access_token import load_or_create_token
from antiphon.web.json_response import _load_redactions, dump_redacted_json
from antiphon.web.run_launcher import RunLauncher
from antiphon.web.sse import EventFeed, StepFeed
from antiphon.web.static_files import STATIC_DIRECTORY
from antiphon.wire import Reply, Usage
from tests import forks
from tests.web.journals import DEAD, ask, begun, do, owned, put, say, show, want

TOKEN = "the-token-of-the-tests-0123456789abcdef"
HERE = "http://127.0.0.1:8321"
OURS = {"origin": HERE, "sec-fetch-site": "same-origin"}


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "logs.db")
    yield made
    made.close()


def sent(page: Any, *requests: tuple[Any, ...], base: str = HERE) -> list[httpx2.Response]:
    """Responses to requests of one browser."""

    async def all_of_them() -> list[httpx2.Response]:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(page), base_url=base) as client:
            return [
                await client.request(method, path, headers=headers or {}, **(more[0] if more else {}))
                for method, path, headers, *more in requests
            ]

    return asyncio.run(all_of_them())


LOGIN = ("GET", f"/login?token={TOKEN}", {})


def known(page: Any, *requests: tuple[Any, ...]) -> list[httpx2.Response]:
    return sent(page, LOGIN, *requests)[1:]


def get(journal: Journal, path: str) -> Any:
    (response,) = known(app(journal=journal, token=TOKEN), ("GET", path, {}))
    assert response.status_code == 200, response.text
    return response.json()


def post(journal: Journal, run: str, data: Any, **headers: str) -> httpx2.Response:
    request = ("POST", f"/api/sessions/{run}/answer", {**OURS, **headers}, {"json": data})
    return known(app(journal=journal, token=TOKEN), request)[0]


# Who may ask


@pytest.mark.parametrize(
    "path", ["/", "/main.js", "/api/me", "/api/sessions", "/api/questions", "/api/sessions/x", "/agui", "/no-such"]
)
def test_without_the_token_there_is_nothing(journal: Journal, path: str):
    wrong = {"cookie": f"antiphon-8321={TOKEN}"}
    other = {"cookie": "antiphon-8322=" + "0" * 64}
    page = app(journal=journal, token=TOKEN)
    assert [each.status_code for each in sent(page, *(("GET", path, h) for h in ({}, wrong, other)))] == [401] * 3


@pytest.mark.parametrize("given", ["", "?token=", "?token=wrong", f"?token={TOKEN}x", f"?token={TOKEN}&token=x"])
def test_another_token_is_none(journal: Journal, given: str):
    (response,) = sent(app(journal=journal, token=TOKEN), ("GET", f"/login{given}", {}))
    assert response.status_code == 401
    assert "set-cookie" not in response.headers


def test_nobody_can_log_in_where_no_token_was_given(journal: Journal):
    (response,) = sent(app(journal=journal), ("GET", "/login?token=", {}))
    assert response.status_code == 401


def test_the_cookie_is_for_this_port_and_not_for_scripts_or_other_sites(journal: Journal):
    response, page, *_ = sent(app(journal=journal, token=TOKEN), LOGIN, ("GET", "/", {}))
    assert (response.status_code, response.headers["location"]) == (303, "./")
    name, _, rest = response.headers["set-cookie"].partition("=")
    assert name == "antiphon-8321"
    assert "; Path=/; HttpOnly; SameSite=Strict" in rest
    assert TOKEN not in rest
    assert page.status_code == 200


def test_cookies_of_others_on_this_machine_do_not_matter(journal: Journal):
    page = app(journal=journal, token=TOKEN)
    own = sent(page, LOGIN)[0].headers["set-cookie"].partition(";")[0]
    for others in (f'a="x; {own}', f"antiphon-8321=other; {own}", f"{{}}@=; ; {own}; antiphon-8321=x"):
        (response,) = sent(page, ("GET", "/", {"cookie": others}))
        assert response.status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8321", 200),
        ("localhost:8321", 401),
        ("[::1]:8321", 401),
        ("LOCALHOST:8321", 401),
        ("evil.example", 421),
        ("evil.example:8321", 421),
        ("127.0.0.1.evil.example:8321", 421),
        ("localhost.evil.example", 421),
        ("evil@localhost", 421),
        ("127.0.0.2:8321", 421),
        ("[::1]evil.example:8321", 421),
        ("[::1].evil.example", 421),
        ("[::1]@evil.example", 421),
        ("localhost:evil.example", 421),
        ("localhost:8321@evil.example", 421),
        ("localhost:8321:80", 421),
        ("localhost.:8321", 421),
        ("localhost/x", 421),
        ("[::1", 421),
        ("::1", 421),
        ("", 421),
    ],
)
def test_a_name_that_is_not_ours_leads_nowhere(journal: Journal, host: str, status: int):
    page = app(journal=journal, token=TOKEN)
    login = sent(page, LOGIN)[0].headers["set-cookie"].partition(";")[0]
    cookie = {"cookie": login if status != 401 else ""}
    (response,) = sent(page, ("GET", "/", {"host": host, **cookie}))
    assert response.status_code == status


def test_names_can_be_given_and_then_only_they_count(journal: Journal):
    page = app(journal=journal, token=TOKEN, origins=["https://agents.example"])
    first, there = sent(page, LOGIN, ("GET", "/", {}), base="https://agents.example")
    assert first.headers["set-cookie"].startswith("antiphon-443=")
    assert "; Secure" in first.headers["set-cookie"]
    assert there.status_code == 200
    assert [each.status_code for each in sent(page, LOGIN)] == [421]
    for wrong in ("agents.example", "ftp://a", "https://a/path", "https://"):
        with pytest.raises(OptionError):
            app(journal=journal, token=TOKEN, origins=[wrong])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (OURS, 200),
        ({}, 403),
        ({"origin": HERE}, 403),
        ({"sec-fetch-site": "same-origin"}, 403),
        ({**OURS, "sec-fetch-site": "same-site"}, 403),
        ({**OURS, "sec-fetch-site": "cross-site"}, 403),
        ({**OURS, "sec-fetch-site": "none"}, 403),
        ({**OURS, "origin": "http://localhost:8321"}, 403),
        ({**OURS, "origin": "http://127.0.0.1:3000"}, 403),
        ({**OURS, "origin": "https://127.0.0.1:8321"}, 403),
        ({**OURS, "origin": "https://evil.example"}, 403),
        ({**OURS, "origin": "null"}, 403),
        # One that stands twice says nothing, whichever is first.
        ([*OURS.items(), ("origin", HERE)], 403),
        ([*OURS.items(), ("origin", "https://evil.example")], 403),
        ([*OURS.items(), ("sec-fetch-site", "cross-site")], 403),
        ([*OURS.items(), *[("host", "127.0.0.1:8321")] * 2], 421),
    ],
)
def test_only_the_page_itself_can_answer(journal: Journal, headers: Any, status: int):
    running = begun(journal, "r")
    ask(running, "1", "Which?")
    running.finish("waiting")
    (item,) = get(journal, "/api/questions")["questions"]
    said = {"json": {"path": "1", "hash": item["hash"], "text": "this"}}
    page = app(journal=journal, token=TOKEN)
    (response,) = known(page, ("POST", "/api/sessions/r/answer", headers, said))
    assert response.status_code == status
    assert len(journal.list_questions("r")) == (0 if status == 200 else 1)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/sessions", {"sec-fetch-site": "same-origin"}, 200),
        ("/api/sessions", {"sec-fetch-site": "none"}, 200),
        ("/api/me", {"sec-fetch-site": "same-origin"}, 200),
        ("/api/me", {"sec-fetch-site": "cross-site"}, 403),
        ("/api/sessions", {"sec-fetch-site": "same-site"}, 403),
        ("/api/sessions", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("/main.js", {"sec-fetch-site": "cross-site"}, 403),
        ("/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ("/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        # A header that stands twice is not believed, whichever of its values is the first.
        ("/api/sessions", [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], 403),
        ("/api/sessions", [("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-origin")], 403),
        ("/api/sessions", [("sec-fetch-site", "cross-site")] * 2, 403),
        ("/", [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-mode", "no-cors")], 403),
    ],
)
def test_other_pages_read_nothing(journal: Journal, path: str, headers: Any, status: int):
    (response,) = known(app(journal=journal, token=TOKEN), ("GET", path, headers))
    assert response.status_code == status


@pytest.mark.parametrize("path", ["/", "/login?token=x", "/main.js", "/api/me", "/api/sessions/none", "/agui", "/none"])
def test_every_response_tells_browsers_to_be_strict(journal: Journal, path: str):
    page = app(journal=journal, token=TOKEN)
    for response in (*sent(page, ("GET", path, {})), *known(page, ("GET", path, {}))):
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
        assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
        assert "unsafe-eval" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cross-origin-opener-policy"] == "same-origin"
        assert response.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in response.headers if name.startswith("access-control")]


def test_the_import_map_is_the_one_that_the_policy_allows(journal: Journal):
    (page,) = known(app(journal=journal, token=TOKEN), ("GET", "/", {}))
    inline = re.findall(r"<script(?! type=\"module\" src)[^>]*>(.*?)</script>", page.text, re.DOTALL)
    (digest,) = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in inline]
    assert f"'sha256-{digest}'" in page.headers["content-security-policy"]
    assert not re.search(r"\son\w+=|style=|https?://", page.text)


@pytest.mark.parametrize(
    "path", ["/../application.py", "/%2e%2e/application.py", "/vendor/vendored.toml", "/vendor/../../guard.py", "/x"]
)
def test_only_the_files_of_the_page_are_served(journal: Journal, path: str):
    (response,) = known(app(journal=journal, token=TOKEN), ("GET", path, {}))
    assert response.status_code == 404


def test_it_can_be_mounted_in_another_application(journal: Journal):
    page = Starlette(routes=[Mount("/agents", app(journal=journal, token=TOKEN))])
    login, first, api, nothing = sent(
        page,
        ("GET", f"/agents/login?token={TOKEN}", {}),
        ("GET", "/agents/", {}),
        ("GET", "/agents/api/sessions", {}),
        ("GET", "/agents/none", {}),
    )
    assert "; Path=/agents/;" in login.headers["set-cookie"]
    assert [each.status_code for each in (login, first, api, nothing)] == [303, 200, 200, 404]


# What is sent


def test_files_of_others_are_as_they_were_taken_and_have_their_licences():
    vendor = STATIC_DIRECTORY / "vendor"
    listed = tomllib.loads((vendor / "vendored.toml").read_text())["file"]
    for each in listed:
        assert hashlib.sha256((vendor / each["file"]).read_bytes()).hexdigest() == each["sha256"], each["file"]
        assert (vendor / each["licence_file"]).read_text().strip()
    there = {path.relative_to(vendor).as_posix() for path in vendor.rglob("*.*js")}
    assert there == {each["file"] for each in listed}


def fetched(module: str) -> set[str]:
    """A module, and what it imports before it runs."""
    page = (STATIC_DIRECTORY / "index.html").read_text()
    names = dict(re.findall(r'"([^"]+)":"\./([^"]+)"', page))
    found, rest = set[str](), [module]
    while rest:
        name = rest.pop()
        if name not in found:
            found.add(name)
            wanted = re.findall(r'(?:from|import)\s*"([^"]+)"', (STATIC_DIRECTORY / name).read_text())
            rest += [names.get(each) or (Path(name).parent / each).as_posix() for each in wanted]
    return found


@pytest.mark.parametrize(
    "view", ["main.js", *re.findall(r'import\("\./([^"]+)"\)', (STATIC_DIRECTORY / "main.js").read_text())]
)
def test_a_view_is_small(view: str):
    page = (STATIC_DIRECTORY / "index.html").read_text()
    modules = {*fetched("main.js"), *fetched(view)}
    styles = {
        each for name in modules for each in re.findall(r'styled\("([^"]+)"\)', (STATIC_DIRECTORY / name).read_text())
    }
    parts = {*modules, *styles, *re.findall(r'href="([^"]+)"', page), "index.html"}
    assert sum((STATIC_DIRECTORY / each).stat().st_size for each in parts) < 120_000


def test_languages_of_code_refer_to_languages_that_are_there():
    languages = STATIC_DIRECTORY / "vendor" / "languages"
    for each in languages.iterdir():
        for name in re.findall(r'sub:"(\w+)"', each.read_text()):
            assert (languages / f"{name}.js").exists(), f"{each.name} needs {name}"


def test_runs_are_told_with_what_they_wait_for(journal: Journal):
    running = begun(journal, "first", "Sorts mails")
    say(running, "1", "Hello.")
    ask(running, "2", "Which?")
    running.finish("waiting")
    begun(journal, "part", parent="first")
    (run,) = get(journal, "/api/sessions")["sessions"]
    assert (run["id"], run["title"], run["state"], run["steps"], run["waiting"]) == (
        "first",
        "Sorts mails",
        "waiting",
        2,
        1,
    )
    assert (run["cost"], run["parts"], run["isRun"]) == (0.0125, 1, False)
    assert [each["id"] for each in get(journal, "/api/sessions/first/children")["sessions"]] == ["part"]
    about = get(journal, "/api/sessions/first/about")
    assert run.pop("given") == ""
    assert about == {**run, "partStates": {"running": 1}, "partsCost": None, "partsUnpriced": 0}


def test_a_session_whose_process_is_gone_is_told_as_stopped(journal: Journal):
    begun(journal, "here")
    gone = begun(journal, "gone")
    begun(journal, "part", parent="here")
    owned(journal, DEAD, gone.id, "part")
    told = {each["id"]: (each["state"], each["isRun"]) for each in get(journal, "/api/sessions")["sessions"]}
    assert told == {"here": ("running", True), "gone": ("stopped", False)}
    for state in ("running", "stopped"):
        (found,) = get(journal, f"/api/sessions?state={state}")["sessions"]
        assert (found["id"], found["state"]) == ({"running": "here", "stopped": "gone"}[state], state)
    assert get(journal, "/api/sessions/here/about")["partStates"] == {"stopped": 1}


@pytest.mark.parametrize("id", ["a b", "a/b", "x/about", "x/step", "50%", "日本語", "a?b#c", "<script>"])
def test_runs_may_have_any_name(journal: Journal, id: str):
    put(begun(journal, id), "1", "hi")
    assert get(journal, f"/api/sessions/{quote(id, safe='')}/about")["id"] == id
    assert get(journal, f"/api/sessions/{quote(id, safe='')}/step?path=1")["head"] == "hi"


def test_a_step_has_its_result_its_arguments_and_what_was_written_down(journal: Journal):
    running = begun(journal, "r")
    show(running, "1", file_content("a.py", "x = 1\n"), "read_file", {"path": "a.py", "lines": [1, 2]})
    step = get(journal, "/api/sessions/r/step?path=1")
    assert (step["seq"], step["head"], step["state"]) == (0, "read_file", "done")
    (view,) = step["views"]
    assert view["kind"] == "file_content"
    assert view["body"]["tokens"][0] == [["", "x"], ["", " "], ["", "="], ["", " "], ["n", "1"]]
    assert [each["name"] for each in step["call"]["arguments"]] == ["path", "lines"]
    asked, came = get(journal, "/api/sessions/r/step?path=1&raw")["raw"]
    assert (asked["name"], came["name"]) == ("asked", "came")
    assert '  "tool": "read_file"' in asked["view"]["body"]["lines"]


def test_kinds_that_others_draw_come_with_their_data(journal: Journal):
    running = begun(journal, "r")
    show(running, "1", Result("acme.report", {"name": "Q3"}))
    show(running, "2", table([{"a": 1}]))
    assert get(journal, "/api/sessions/r/step?path=1")["views"][0]["data"] == {"name": "Q3"}
    assert "data" not in get(journal, "/api/sessions/r/step?path=2")["views"][0]


@pytest.mark.parametrize(
    ("rows", "status"),
    [("1", 200), ("10000000", 200), ("10000001", 400), ("0", 400), ("-1", 400), ("x", 400), ("1e9", 400)],
)
def test_so_many_rows_as_are_asked_for(journal: Journal, rows: str, status: int):
    show(begun(journal, "r"), "1", table([{"n": n} for n in range(300)]))
    (response,) = known(app(journal=journal, token=TOKEN), ("GET", f"/api/sessions/r/step?path=1&rows={rows}", {}))
    assert response.status_code == status
    if status == 200:
        assert len(response.json()["views"][0]["body"]["rows"]) == min(int(rows), 300)


def test_what_is_not_there_is_told(journal: Journal):
    begun(journal, "r")
    page = app(journal=journal, token=TOKEN)
    for path, said in (
        ("/api/sessions/none/about", "no session begins with 'none'"),
        ("/api/sessions/r/step?path=9", "session 'r' has no step '9'"),
        ("/api/sessions/none/step?path=1", "session 'none' has no step '1'"),
    ):
        (response,) = known(page, ("GET", path, {}))
        assert (response.status_code, response.json()["error"]) == (404, said)


# What is never sent


def test_private_values_and_keys_are_in_no_response(journal: Journal, monkeypatch: pytest.MonkeyPatch):
    key = "sk-ant-secret-0123456789"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    _load_redactions.cache_clear()
    running = begun(journal, "r", f"uses {key}")
    with private_effects():
        do(running, "1", Print("my-private-words"), Outcome())
        do(running, "2", AskPerson("question", "my-private-words?"))
    show(running, "3", structured({"key": key}), "fetch", {"key": key})
    do(running, "4", AskPerson("question", f"Is {key} right?"))
    running.finish("waiting", {"error": {"message": f"no: {key}"}})
    paths = [
        "/api/sessions",
        "/api/questions",
        "/api/sessions/r/about",
        *(f"/api/sessions/r/step?path={n}{raw}" for n in range(1, 5) for raw in ("", "&raw")),
    ]
    responses = known(app(journal=journal, token=TOKEN), *(("GET", path, {}) for path in paths))
    streamed = told(StepFeed(journal, RunLauncher(journal), "r"))
    whole = "\n".join(each.text for each in responses) + "".join(map(dump_redacted_json, streamed))
    _load_redactions.cache_clear()
    assert [each.status_code for each in responses] == [200] * len(paths)
    assert "my-private-words" not in whole
    assert key not in whole
    assert TOKEN not in whole
    item = next(each for each in responses[1].json()["questions"] if each["path"] == "2")
    assert item["isPrivate"]
    assert post(journal, "r", {"path": "2", "hash": item["hash"], "text": "x"}).status_code == 409


# People


def test_an_approval_shows_the_whole_call(journal: Journal):
    running = begun(journal, "r")
    want(running, "1", "write_file", {"path": "a.py", "content": "x" * 30_000 + "\n" + "y\n" * 5_000})
    running.finish("waiting")
    (item,) = get(journal, "/api/questions")["questions"]
    path, content = item["call"]["arguments"]
    assert item["call"]["name"] == "write_file"
    assert path["view"]["body"]["lines"] == ["a.py"]
    assert content["view"]["body"]["lines"] == ["x" * 30_000, *["y"] * 5_000]


def test_what_is_too_much_for_one_look_comes_when_the_rest_is_answered(journal: Journal):
    running = begun(journal, "r")
    for number in range(1, 4):
        want(running, str(number), "write_file", {"content": f"{number}" * 3_000_000})
    running.finish("waiting")
    first, second, third = get(journal, "/api/questions")["questions"]
    assert ["call" in each for each in (first, second, third)] == [True, True, False]
    assert third["isLater"]


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 90
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_answered_run_goes_on_by_itself(journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "greet.vibe").write_text('const name = ask "Who?"\nprint("Hello, " + name)\n')
    forks.run("--db", str(journal.file.path), "run", "greet.vibe", cwd=tmp_path, stdin=subprocess.DEVNULL)
    (item,) = get(journal, "/api/questions")["questions"]
    answered = post(journal, item["run"], {"path": item["path"], "hash": item["hash"], "text": "Ada"})
    assert answered.json()["goesOn"]
    wait_until(lambda: journal.find(item["run"]).state == "done")
    assert [each.asked["text"] for each in journal.iterate_effects(item["run"]) if each.kind == "print"] == [
        "Hello, Ada"
    ]


def processes() -> set[int]:
    """The processes that this one has begun and that are there."""
    found = (each.read_text().split() for each in Path("/proc/self/task").glob("*/children"))
    return {int(each) for words in found for each in words if _is_alive(each)}


def _is_alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_run_that_waits_has_no_process_and_goes_on_when_it_is_answered(tmp_path: Path) -> None:
    text = 'const a = ask "One?"\nconst b = ask "Two?"\nsleep(61)\n"{a} {b}"\n'
    (tmp_path / "p.vibe").write_text(text)
    journal, before = Journal(tmp_path / "logs.db"), processes()
    begun = LaunchSpec(str(tmp_path / "p.vibe"), str(tmp_path), str(tmp_path / "p.vibe"), {})
    journal.begin("program", "p.vibe", begun.to_json(), id="r", state="ready")
    going = RunLauncher(journal)
    assert going.go_on("r")
    for path, said in (("1", "a"), ("2", "b")):
        wait_until(
            lambda path=path: bool(journal.list_questions("r", path=path)) and journal.find("r").state == "waiting"
        )
        wait_until(lambda: processes() <= before)
        # As from a terminal, of which this process is not told.
        journal.answer("r", path, HumanAnswer(said))
    wait_until(lambda: journal.find("r").wake_at is not None)
    wait_until(lambda: processes() <= before)
    with journal.file.write_transaction() as connection:
        connection.execute("UPDATE steps SET began = began - 3600 WHERE kind = 'sleep'")
        connection.execute("UPDATE sessions SET wake_at = wake_at - 3600")
    wait_until(lambda: journal.find("r").state == "done")
    assert (journal.load_ending("r")["value"], going.failure("r")) == ("a b", "")


def test_what_cannot_go_on_says_why(journal: Journal):
    begun(journal, "r").finish("interrupted")
    going = RunLauncher(journal)
    assert going.go_on("r")
    wait_until(lambda: bool(going.failure("r")))
    assert "it is not a program" in going.failure("r")
    (run,) = [data for _, name, data in told(StepFeed(journal, going, "r")) if name == "session"]
    assert "it is not a program" in run["stuck"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"allowed": True}, HumanAnswer()),
        ({"allowed": True, "always": True}, HumanAnswer(always=True)),
        ({"allowed": False, "text": "too much"}, HumanAnswer("too much", allowed=False)),
    ],
)
def test_calls_are_allowed_and_denied(journal: Journal, given: dict[str, Any], said: HumanAnswer):
    running = begun(journal, "r")
    want(running, "1", "rm", {"path": "/"})
    running.finish("waiting")
    (item,) = get(journal, "/api/questions")["questions"]
    response = post(journal, "r", {"path": "1", "hash": item["hash"], **given})
    assert response.json() == {"state": "ready", "goesOn": True, "resume": "antiphon resume r"}
    (effect,) = journal.iterate_effects("r")
    assert effect.outcome is not None
    assert effect.outcome.value == said
    assert get(journal, "/api/questions")["questions"] == []


def test_the_first_answer_counts_and_the_second_is_told_of_it(journal: Journal):
    running = begun(journal, "r")
    ask(running, "1", "Which?")
    running.finish("waiting")
    (item,) = get(journal, "/api/questions")["questions"]
    assert post(journal, "r", {"path": "1", "hash": item["hash"], "text": "first"}).status_code == 200
    second = post(journal, "r", {"path": "1", "hash": item["hash"], "text": "second"})
    assert second.status_code == 409
    assert second.json()["error"] == "the question is already answered: first"


def test_nobody_answers_what_was_not_shown(journal: Journal):
    running = begun(journal, "r")
    want(running, "1", "rm", {"path": "/"})
    ask(running, "2", "Which?")
    running.finish("waiting")
    first, second = get(journal, "/api/questions")["questions"]
    for given in (
        {"path": "1", "hash": second["hash"], "allowed": True},
        {"path": "1", "hash": "", "allowed": True},
        {"path": "2", "hash": first["hash"], "text": "x"},
        {"path": "9", "hash": "", "text": "x"},
        {"path": "1", "allowed": True},
        {"path": "1", "hash": first["hash"], "allowed": "yes"},
        {"path": "2", "hash": second["hash"], "allowed": False},
        {"path": "2", "hash": second["hash"], "text": 5},
        [],
    ):
        assert post(journal, "r", given).status_code in (400, 404, 409)
    assert (
        post(journal, "r", {"path": "2", "hash": second["hash"]}, **{"content-type": "text/plain"}).status_code == 400
    )
    assert len(journal.list_questions("r")) == 2


def test_a_run_that_is_over_waits_for_nobody(journal: Journal):
    running = begun(journal, "r")
    ask(running, "1", "Which?")
    running.finish("waiting")
    journal.cancel("r")
    assert get(journal, "/api/questions")["questions"] == []


def test_a_key_is_withheld_in_the_form_that_it_has_in_json(monkeypatch: pytest.MonkeyPatch):
    key = 'sk-ant-"secret"\\0123456789'
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    _load_redactions.cache_clear()
    sent = dump_redacted_json({"said": f"It is {key}."})
    _load_redactions.cache_clear()
    assert sent == '{"said":"It is [$ANTHROPIC_API_KEY]."}'


def test_only_messages_may_be_large(journal: Journal):
    begun(journal, "r").finish("done")
    response = post(journal, "r", {"text": "x" * 2_000_000})
    assert (response.status_code, "longer than 2,000,000 bytes" in response.json()["error"]) == (400, True)


# What happens


def names(found: list[Any]) -> list[str]:
    return [name for _, name, _ in found]


def told(watch: EventFeed) -> list[Any]:
    """All that is new, however often one has to ask."""
    found: list[Any] = []
    while new := watch.new():
        found += new
    return found


def steps_of(watch: StepFeed) -> tuple[str, list[Any]]:
    ((mark, _, steps),) = [each for each in told(watch) if each[1] == "steps"]
    return mark, steps


def test_a_page_is_told_of_what_is_new_once(journal: Journal):
    watch = EventFeed(journal)
    assert names(watch.new()) == ["questions", "sessions"]
    assert watch.new() == []
    running = begun(journal, "r")
    assert names(watch.new()) == ["sessions"]
    ask(running, "1", "Which?")
    assert names(watch.new()) == ["questions", "sessions"]
    assert watch.new() == []


def test_steps_are_sent_as_they_begin_and_when_they_are_over(journal: Journal):
    running = begun(journal, "r")
    watch = StepFeed(journal, RunLauncher(journal), "r")
    told(watch)
    do(running, "1", AskModel("m", "", ()))
    put(running, "1.1", "inside")
    mark, steps = steps_of(watch)
    assert [(each["path"], each["state"]) for each in steps] == [("1", "begun"), ("1.1", "done")]
    assert mark == ""
    assert "steps" not in names(told(watch))
    running.middleware.after(
        EffectCall("1", AskModel("m", "", ())), Outcome(ModelReplied(Reply((), "end", usage=Usage()), 0.5))
    )
    mark, steps = steps_of(watch)
    assert [(each["path"], each["state"], each["cost"]) for each in steps] == [("1", "done", 0.5)]
    assert mark == "1"


def test_whoever_comes_back_misses_nothing(journal: Journal):
    running = begun(journal, "r")
    put(running, "1", "one")
    ask(running, "2", "Which?")
    put(running, "3", "three")
    assert steps_of(StepFeed(journal, RunLauncher(journal), "r"))[0] == "0"
    journal.answer("r", "2", HumanAnswer("this"))
    put(running, "4", "four")
    again = StepFeed(journal, RunLauncher(journal), "r", "0")
    mark, steps = steps_of(again)
    assert [(each["path"], each["state"]) for each in steps] == [("2", "done"), ("3", "done"), ("4", "done")]
    assert mark == "3"


def test_a_run_that_begins_anew_is_told_so(journal: Journal):
    running = begun(journal, "r")
    put(running, "1", "one")
    watch = StepFeed(journal, RunLauncher(journal), "r")
    told(watch)
    running.set_aside({})
    put(running, "1", "another")
    found = told(watch)
    assert "anew" in names(found)
    ((mark, _, steps),) = [each for each in found if each[1] == "steps"]
    assert (mark, steps[0]["head"]) == ("1/0", "another")
    assert "anew" not in names(told(StepFeed(journal, RunLauncher(journal), "r", "1/0")))


def test_questions_of_runs_that_are_part_of_others_are_told_too(journal: Journal):
    begun(journal, "outer")
    inner = begun(journal, "inner", parent="outer")
    watch = EventFeed(journal)
    told(watch)
    ask(inner, "1", "Which?")
    assert names(told(watch)) == ["questions"]


def test_a_run_that_is_gone_is_told_so(journal: Journal):
    assert "gone" in names(StepFeed(journal, RunLauncher(journal), "none").new())


# The command


def test_listening_beyond_this_machine_needs_https_or_a_word():
    run = CliRunner().invoke(cli, ["serve", "--listen", "0.0.0.0", "--port", "0"])
    assert run.exit_code == 2
    assert "--insecure" in run.output
    half = CliRunner().invoke(cli, ["serve", "--cert", __file__])
    assert (half.exit_code, "need each other" in half.output) == (2, True)


def test_it_is_served_and_stops_though_somebody_listens(tmp_path: Path):
    command = "--db", str(tmp_path / "logs.db"), "serve", "--port", "0"
    with forks.Forked(*command, stdout=subprocess.PIPE, text=True, start_new_session=True) as served:
        assert served.stdout is not None
        url = served.stdout.readline().removeprefix("The page: ").strip()
        with httpx2.Client(follow_redirects=True, timeout=60) as client:
            assert "<title>Antiphon</title>" in client.get(url).text
            with client.stream("GET", url.partition("/login")[0] + "/api/events") as stream:
                lines = stream.iter_lines()
                assert next(each for each in lines if each.startswith("event:")) == "event: questions"
                served.send_signal(signal.SIGINT)
                assert served.wait(60) == 0


def test_without_its_libraries_the_extra_is_named(journal: Journal, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'antiphon\[web\]'"):
        app(journal=journal, token=TOKEN)


def test_the_token_is_kept_for_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    first = load_or_create_token()
    assert load_or_create_token() == first
    (file,) = tmp_path.rglob("web-token")
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    assert load_or_create_token() != first
    assert file.stat().st_mode & 0o777 == 0o600
