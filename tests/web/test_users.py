"""Other people: who may look, who may act, and who no longer may."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from antiphon.cli import cli
from antiphon.durable import Journal
from antiphon.errors import NotSavedError, OptionError
from antiphon.fakes import Fake
from antiphon.web import app
from antiphon.web.users import UserFile
from tests.web.agui_client import events_of, outcome
from tests.web.browser import PATIENCE, TOKEN, Site
from tests.web.journals import ask, begun, want
from tests.web.tabs import Tab, browser, journal  # noqa: F401
from tests.web.test_server import HERE, OURS, sent

INPUT = {"threadId": "thread-of-ada", "runId": "r1", "messages": [{"id": "u", "role": "user", "content": "Hi"}]}


@pytest.fixture
def users(tmp_path: Path) -> UserFile:
    return UserFile(tmp_path / "users.json")


def login(token: str) -> tuple[str, str, dict[str, str]]:
    return "GET", f"/login?token={token}", {}


def posts(page: Any) -> list[str]:
    """Every path at which something can be changed."""
    paths = [route.path for route in page._app.routes if set(route.methods or ()) - {"GET", "HEAD"}]
    assert {"/agui", "/api/sessions/{id:path}/answer", "/api/sessions/{id:path}/resume"} <= set(paths)
    return [path.replace("{id:path}", "r").replace("{", "").replace("}", "") for path in paths]


def test_who_may_look_may_not_act(journal: Journal, users: UserFile):  # noqa: F811
    running = begun(journal, "r")
    ask(running, "1", "Which?")
    running.finish("waiting")
    page = app(journal=journal, token=TOKEN, users=users.path)
    reader, actor = users.add("ada", may_act=False), users.add("bob@example.org")
    for token, name, may_act in ((reader, "ada", False), (actor, "bob@example.org", True), (TOKEN, "", True)):
        _, me, inbox = sent(page, login(token), ("GET", "/api/me", {}), ("GET", "/api/questions", {}))
        assert me.json() == {"name": name, "mayAct": may_act}
        (item,) = inbox.json()["questions"]
        assert not {reader, actor, TOKEN} & set(me.text.split('"'))
    for path in posts(page):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            _, refused = sent(page, login(reader), (method, path, OURS, {"json": {}}))
            assert (refused.status_code, refused.text) == (403, "ada may only read."), (method, path)
    said = {"json": {"path": "1", "hash": item["hash"], "text": "this"}}
    _, refused, foreign = sent(
        page,
        login(reader),
        ("POST", "/api/sessions/r/answer", OURS, said),
        ("POST", "/api/sessions/r/answer", {}, said),
    )
    assert [refused.status_code, foreign.status_code] == [403, 403]
    assert len(journal.list_questions("r")) == 1
    _, taken = sent(page, login(actor), ("POST", "/api/sessions/r/answer", OURS, said))
    assert taken.status_code == 200


def test_tokens_of_agui_come_with_the_request_and_count_there_alone(
    journal: Journal,  # noqa: F811
    users: UserFile,
    antiphon_fake: Fake,
):
    antiphon_fake.play("Hello.", "Hello.", "Hello.")
    page = app(journal=journal, token=TOKEN, users=users.path, model=antiphon_fake.connect("anthropic/claude-sonnet-5"))
    reader, actor = users.add("ada", may_act=False), users.add("bob")

    def posted(run: str, **headers: str) -> httpx2.Response:
        given = {"json": {**INPUT, "threadId": f"thread-{run}", "runId": run}}
        return sent(page, ("POST", "/agui", headers, given))[0]

    def bearer(token: str) -> dict[str, str]:
        return {"authorization": f"Bearer {token}"}

    table = [
        (401, {}),
        (401, bearer("")),
        (401, bearer("wrong")),
        (401, bearer(f"{TOKEN}x")),
        (401, bearer(users.all[1].key)),
        (401, {"authorization": f"Basic {TOKEN}"}),
        (401, {"cookie": f"antiphon-8321={TOKEN}"}),
        (403, bearer(reader)),
        (421, {**bearer(TOKEN), "host": "evil.example"}),
        # What comes from a page, comes from ours.
        (403, {**bearer(TOKEN), "origin": "https://evil.example"}),
        (403, {**bearer(TOKEN), "origin": HERE}),
        (403, {**bearer(TOKEN), "sec-fetch-site": "cross-site"}),
        (403, {**bearer(TOKEN), "sec-fetch-site": "none"}),
        (403, {**bearer(TOKEN), "origin": "null", "sec-fetch-site": "cross-site"}),
    ]
    for status, headers in table:
        assert posted("none", **headers).status_code == status, headers
    for one, two in ((TOKEN, "wrong"), ("wrong", TOKEN)):
        both = [*bearer(one).items(), *bearer(two).items()]
        assert sent(page, ("POST", "/agui", both, {"json": INPUT}))[0].status_code == 401
    assert antiphon_fake.requests == []
    for run, headers in (("a", bearer(TOKEN)), ("b", bearer(actor)), ("c", {**bearer(actor), **OURS})):
        response = posted(run, **headers)
        assert outcome(events_of(response.text)) == {"type": "success"}
        assert not [name for name in response.headers if name.startswith("access-control")]
    for path in ("/", "/api/sessions", "/api/me", "/api/questions"):
        assert sent(page, ("GET", path, bearer(TOKEN)))[0].status_code == 401
    preflight = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    (response,) = sent(page, ("OPTIONS", "/agui", preflight))
    assert response.status_code == 401
    assert not [name for name in response.headers if name.startswith("access-control")]
    # With the cookie it is a page: ours alone.
    given = {"json": {**INPUT, "threadId": "thread-d", "runId": "d"}}
    cookie = [login(TOKEN), ("POST", "/agui", {}, given), ("POST", "/agui", {"origin": "https://evil.example"}, given)]
    assert [each.status_code for each in sent(page, *cookie)[1:]] == [403, 403]


def test_who_is_removed_sees_nothing_more_also_of_what_is_open(journal: Journal, users: UserFile):  # noqa: F811
    begun(journal, "r")
    token, other = users.add("ada"), users.add("bob")
    site = Site(journal, users=users.path)
    over = threading.Event()

    def look() -> None:
        with client.stream("GET", f"{site.url}/api/events") as stream:
            for line in stream.iter_lines():
                if line.startswith("event: sessions"):
                    seen.set()
        over.set()

    seen = threading.Event()
    with httpx2.Client(timeout=60) as client, httpx2.Client(timeout=60) as second:
        assert client.get(f"{site.url}/login?token={token}").status_code == 303
        second.get(f"{site.url}/login?token={other}")
        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        assert seen.wait(60)
        users.remove("ada")
        assert over.wait(60)
        assert client.get(f"{site.url}/api/sessions").status_code == 401
        assert client.get(f"{site.url}/login?token={token}").status_code == 401
        assert second.get(f"{site.url}/api/sessions").status_code == 200
        thread.join(60)
    site.stop()


def test_the_file_is_the_owners_alone_and_has_no_token(users: UserFile):
    token = users.add("ada", may_act=False)
    assert users.path.stat().st_mode & 0o777 == 0o600
    assert token not in users.path.read_text()
    assert [(each.name, each.may_act) for each in UserFile(users.path).all] == [("ada", False)]
    with pytest.raises(OptionError, match="already"):
        users.add("ada")
    with pytest.raises(NotSavedError, match="there are: ada"):
        users.remove("eve")
    for wrong in ("", "a b", "../x", "a\n", "-a", "x" * 65, "<b>"):
        with pytest.raises(OptionError, match="use letters"):
            users.add(wrong)
    users.path.chmod(0o644)
    assert users.all == ()
    users.path.chmod(0o600)
    assert len(users.all) == 1


@pytest.mark.parametrize(
    "text",
    ["", "x", "[]", "5", '{"users": 5}', '{"users": [5, {"name": "a"}, {"name": "a", "key": ""}, {"key": "x"}]}'],
)
def test_a_damaged_file_lets_nobody_in(journal: Journal, users: UserFile, text: str):  # noqa: F811
    users.add("ada")
    users.path.write_text(text)
    assert users.all == ()
    page = app(journal=journal, token=TOKEN, users=users.path)
    assert sent(page, login(""), ("GET", "/api/me", {"cookie": "antiphon-8321="}))[1].status_code == 401


def test_users_are_added_listed_and_removed_in_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def run(*words: str) -> Any:
        return CliRunner().invoke(cli, ["serve", *words])

    assert run("users", "list").output.startswith("there are no other users")
    link = run("--name", "agents.example", "--port", "443", "users", "add", "ada", "--read").output.strip()
    assert link.startswith("http://agents.example:443/login?token=")
    assert run("users", "add", "bob").output.startswith("http://127.0.0.1:8321/login?token=")
    assert run("users", "list").output == "ada  read only\nbob  read and act\n"
    assert run("users", "remove", "bob").exit_code == 0
    wrong = run("users", "remove", "bob")
    assert (wrong.exit_code, "there are: ada" in str(wrong.output) + str(wrong.exception)) == (1, True)
    assert [each["name"] for each in json.loads(next(tmp_path.rglob("web-users.json")).read_text())["users"]] == ["ada"]


@pytest.fixture
def site_of_ada(journal: Journal, users: UserFile) -> Iterator[tuple[Site, UserFile, str]]:  # noqa: F811
    token = users.add("ada", may_act=False)
    made = Site(journal, users=users.path)
    yield made, users, token
    made.stop()


def test_the_page_of_who_may_look_has_nothing_that_acts(
    browser: Any,  # noqa: F811
    journal: Journal,  # noqa: F811
    site_of_ada: tuple[Site, UserFile, str],
):
    site, users, token = site_of_ada
    running = begun(journal, "r", "Tidies up")
    want(running, "1", "rm", {"path": "/"})
    ask(running, "2", "Which?")
    running.finish("waiting")
    begun(journal, "left").finish("interrupted")
    tab = Tab(browser, site)
    page = tab.go("questions")
    page.wait_for_selector("form.decide textarea")
    assert page.locator("form.decide").count() == 2
    assert page.locator(".me").count() == 0
    page = tab.go("sessions/left")
    page.wait_for_selector(".note button")
    # A page that is still open would ask without its cookie.
    page.goto("about:blank")
    tab.context.clear_cookies()
    page.goto(f"{site.url}/login?token={token}")
    page.goto(f"{site.url}/#/questions")
    page.wait_for_selector(".waiting .asked")
    page.wait_for_selector(".me")
    assert page.locator(".me").inner_text() == "ada (read only)"
    assert page.locator("main form, main button, main textarea, main input").count() == 0
    page.goto(f"{site.url}/#/sessions/left")
    page.wait_for_selector("header[data-session='left']")
    assert page.locator("main button").count() == 0
    page.goto(f"{site.url}/#/new")
    page.wait_for_selector(".talked h1")
    assert page.locator("main textarea").count() == 0
    assert tab.complaints == []
    users.remove("ada")
    page.wait_for_selector("text=You are logged out", timeout=PATIENCE)
    tab.close()
