"""Chats: without a browser, what the server says and does; in one, what people see and can do."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon import Store
from antiphon.conversation import Image
from antiphon.durable import Journal
from antiphon.errors import NotReadyError
from antiphon.fakes import Answer, Fail, Fake, Received, call
from antiphon.web import app
from antiphon.web.chat import Chats
from antiphon.web.transcript_events import TranscriptFeed
from tests import forks
from tests.lang_unit.commands import antiphon
from tests.web.browser import TOKEN, Site
from tests.web.tabs import AXE, PICTURES, Tab
from tests.web.test_server import HERE, LOGIN, OURS

GPT, CLAUDE = "openai/gpt-5", "anthropic/claude-sonnet-5"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGM4YWGBBzGMSmNDAFmUW/e/aNr3AAAAAElFTkSuQmCC"
PICTURE = {"name": "dot.png", "data": PNG}
Page = Callable[..., Any]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with Fake() as fake:
        for name, api in (("OPENAI", "openai"), ("ANTHROPIC", "anthropic")):
            monkeypatch.setenv(f"{name}_BASE_URL", fake.base_url(api))
            monkeypatch.setenv(f"{name}_API_KEY", "sk-secret-key")
        monkeypatch.setenv("ANTIPHON_MODEL", GPT)
        yield fake


@pytest.fixture
def journal(fake: Fake) -> Iterator[Journal]:  # noqa: ARG001
    made = Journal()
    yield made
    made.close()


@pytest.fixture
def page(journal: Journal) -> Page:
    """Asks the server something, as a browser of somebody who is logged in."""
    served = app(journal=journal, token=TOKEN)

    def ask(path: str, given: Any = None, **headers: str) -> Any:
        async def asked() -> httpx2.Response:
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(served), base_url=HERE) as client:
                await client.request(*LOGIN[:2])
                how: dict[str, Any] = {} if given is None else {"json": given}
                method = "GET" if given is None else "POST"
                return await client.request(method, f"/api/sessions{path}", headers={**OURS, **headers}, **how)

        return asyncio.run(asked())

    return ask


def until(found: Callable[[], Any]) -> Any:
    """What is found, once it is there."""
    ends = time.monotonic() + 60
    while not (value := found()):
        assert time.monotonic() < ends
        time.sleep(0.02)
    return value


def settled(page: Page, id: str) -> dict[str, Any]:
    """A chat once nothing goes on in it."""
    return until(lambda: (told := page(f"/{id}/transcript").json())["chat"]["state"] != "answering" and told)


def asked(journal: Journal) -> str:
    """The run that waits for somebody, once one does."""
    waiting = "SELECT session FROM steps WHERE kind = 'person' AND state = 'waiting'"
    return until(lambda: journal.database.query(waiting, ()))[0][0]


def begun(page: Page, text: str = "Hello?", **more: Any) -> str:
    response = page("", {"text": text, **more})
    assert response.status_code == 200, response.text
    return response.json()["id"]


def said(told: dict[str, Any]) -> list[str]:
    return [each.get("text", each["type"]) for turn in told["turns"] for each in turn["pieces"]]


# The same conversations as in a terminal


def test_a_chat_goes_on_in_a_terminal_and_comes_back(fake: Fake, page: Page, journal: Journal):
    fake.play(Answer("Hi.", reasoning="Greet.", usage=(120, 7)), "From the terminal.", "Back again.")
    id = begun(page, "Hello **there**")
    told = settled(page, id)
    assert said(told) == ["Hello **there**", "Greet.", "Hi."]
    account = told["accounts"]["0"]
    assert (account["model"], account["inputTokens"], account["outputTokens"]) == (GPT, 120, 7)
    assert journal.find(account["run"]).kind == "chat"
    assert forks.run("chat", "--resume", id, input="And now?\n", text=True).returncode == 0
    told = settled(page, id)
    assert said(told)[3:] == ["And now?", "From the terminal."]
    assert until(lambda: page(f"/{id}/transcript").json()["accounts"].get("2"))["model"] == GPT
    assert page(f"/{id}/send", {"text": "Here."}).status_code == 200
    assert said(settled(page, id))[5:] == ["Here.", "Back again."]
    assert [len(turn.text) > 0 for turn in Store().load(id).turns] == [True] * 6
    assert len(Store().list()) == 1


def test_another_process_opens_it_with_its_tools_and_what_it_took(fake: Fake, page: Page, journal: Journal):
    fake.play(Answer("One.", usage=(10, 3)))
    id = begun(page, tools="read", model=CLAUDE)
    settled(page, id)
    chat = Chats(journal).open(id)
    assert (chat.tools.bundle, chat.session.model.name) == ("read", CLAUDE)
    assert (chat.accounts.by_turn[0]["inputTokens"], chat.accounts.by_turn[0]["outputTokens"]) == (10, 3)


def test_chats_are_listed_with_the_models_that_can_be_had(fake: Fake, page: Page):
    fake.play("One.")
    id = begun(page, "First\n\nthings")
    settled(page, id)
    (listed,) = page("").json()["sessions"]
    assert (listed["id"], listed["title"], listed["models"]) == (id, "First", [GPT])
    told = page("/../models").json()
    assert told["model"] == GPT
    assert any(each["name"].startswith("anthropic/") for each in told["models"])
    assert "sk-secret-key" not in json.dumps(told)


def test_the_model_is_switched_in_mid_conversation(fake: Fake, page: Page):
    fake.play("One.", "Two.")
    id = begun(page)
    settled(page, id)
    assert page(f"/{id}/settings", {"model": CLAUDE, "tools": "read"}).json()["model"] == CLAUDE
    page(f"/{id}/send", {"text": "And you?"})
    told = settled(page, id)
    assert [each.api for each in fake.requests] == ["openai-responses", "anthropic"]
    assert told["accounts"]["2"]["model"] == CLAUDE
    assert fake.requests[1].body["tools"]
    refused = page(f"/{id}/settings", {"model": "nobody/has-this"})
    assert refused.status_code == 400
    assert "nobody" in refused.json()["error"]
    assert page(f"/{id}/transcript").json()["chat"]["model"] == CLAUDE


def test_a_fork_leaves_the_first_as_it_is(fake: Fake, page: Page):
    fake.play("One.", "Two.", "Three.")
    id = begun(page, "First", files=[PICTURE])
    settled(page, id)
    page(f"/{id}/send", {"text": "Second"})
    before = settled(page, id)
    other = page(f"/{id}/edit", {"turn": 2, "text": "Another second"}).json()["id"]
    told = settled(page, other)
    assert said(told) == ["First", "image", "One.", "Another second", "Three."]
    assert said(page(f"/{id}/transcript").json()) == said(before)
    assert (Store().find(other).parent, Store().find(other).parent_turns) == (id, 2)
    assert told["accounts"]["0"]["run"] == before["accounts"]["0"]["run"]
    fake.play("Four.")
    third = page(f"/{id}/edit", {"turn": 0, "text": "Another first"}).json()["id"]
    assert said(settled(page, third)) == ["Another first", "image", "Four."]
    assert page(f"/{id}/edit", {"turn": 99, "text": "x"}).status_code == 400
    assert page(f"/{id}/edit", {"text": "x"}).status_code == 400


# Images


def test_images_reach_the_model_and_are_shown_as_what_they_are(fake: Fake, page: Page):
    fake.play("A picture.", "Again.")
    id = begun(page, "What is it?", files=[PICTURE])
    told = settled(page, id)
    assert PNG in json.dumps(fake.requests[0].body)
    place = told["turns"][0]["pieces"][1]["part"]
    image = page(f"/{id}/transcript/image?turn=0&part={place}")
    assert (image.headers["content-type"], image.content) == ("image/png", base64.b64decode(PNG))
    assert image.headers["x-content-type-options"] == "nosniff"
    assert page(f"/{id}/transcript/image?turn=0&part=0").status_code == 404
    page(f"/{id}/retry", {})
    settled(page, id)
    assert PNG in json.dumps(fake.requests[1].body)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ({"name": "a.bin", "data": base64.b64encode(b"\0\1\2").decode()}, "neither text"),
        ({"name": "empty.txt", "data": ""}, "is empty"),
        ({"name": "a.png", "data": "%%%"}, "base64"),
        ({"name": "a.png", "url": "https://evil.example/p.png"}, "`name` and `data`"),
        ("https://evil.example/p.png", "`name` and `data`"),
        ({"name": "/etc/passwd"}, "`name` and `data`"),
    ],
)
def test_what_cannot_be_attached_is_refused(fake: Fake, page: Page, file: Any, said: str):
    response = page("", {"text": "Look", "files": [file]})
    assert (response.status_code, said in response.json()["error"]) == (400, True)
    assert (fake.requests, Store().list()) == ([], [])


def test_texts_and_documents_are_attached_as_what_they_are(fake: Fake, page: Page):
    fake.play("Read.", "Read too.")
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    files = [{"name": "a.svg", "data": base64.b64encode(svg).decode()},
             {"name": "b.pdf", "data": base64.b64encode(b"%PDF-1.4 words").decode()}]  # fmt: skip
    id = begun(page, "Read them.", files=files)
    pieces = settled(page, id)["turns"][0]["pieces"]
    assert [(each["type"], each["text"][:8]) for each in pieces] == [
        ("text", "Read the"),
        ("text", "a.svg:\n`"),
        ("file", "b.pdf, a"),
    ]
    sent = json.dumps(fake.requests[0].body)
    assert "onload='alert(1)'" in sent
    assert base64.b64encode(b"%PDF-1.4 words").decode() in sent
    # An edited message keeps its document.
    other = page(f"/{id}/edit", {"turn": 0, "text": "Read it."}).json()["id"]
    assert [each["type"] for each in settled(page, other)["turns"][0]["pieces"]] == ["text", "file"]


def test_a_chat_is_renamed_for_good(fake: Fake, page: Page):
    fake.play("One.", "Two.")
    id = begun(page, "First")
    settled(page, id)
    assert page(f"/{id}/rename", {"title": "  My\n chat "}).json()["title"] == "My chat"
    page(f"/{id}/send", {"text": "Second"})
    assert settled(page, id)["chat"]["title"] == "My chat"
    assert Store().find(id).title == "My chat"
    assert page("").json()["sessions"][0]["title"] == "My chat"
    assert page(f"/{id}/rename", {"title": " "}).status_code == 400


def test_an_undo_restores_files_and_names_what_stays(fake: Fake, page: Page):
    Path("a.txt").write_text("before")
    Path("b.txt").write_text("before")
    calls: list[tuple[str, dict[str, str]]] = [
        ("write_file", {"path": "a.txt", "content": "after"}),
        ("write_file", {"path": "new.txt", "content": "x"}),
        ("write_file", {"path": "b.txt", "content": "after"}),
        ("run_shell", {"command": "echo hi > made"}),
    ]
    fake.play(*(call(name, **given) for name, given in calls), "All done.")
    id = begun(page, "Do it.", tools="all")
    for number in range(len(calls)):

        def question(number: int = number) -> Any:
            asked = page("/../questions").json()["questions"]
            return asked if asked and len(fake.requests) == number + 1 else None

        (item,) = until(question)
        page(f"/{id}/answer", {"path": item["path"], "hash": item["hash"], "allowed": True})
    settled(page, id)
    Path("b.txt").write_text("mine")
    undone = page(f"/{id}/undo", {}).json()["undone"]
    assert (undone["messages"], undone["restored"], undone["removed"]) == (["Do it."], ["a.txt"], ["new.txt"])
    assert [name for name, _ in undone["kept"]] == ["b.txt"]
    assert undone["lasting"] == ['run_shell({"command": "echo hi > made"})']
    assert (Path("a.txt").read_text(), Path("b.txt").read_text(), Path("new.txt").exists()) == ("before", "mine", False)
    assert page(f"/{id}/undo", {}).status_code == 400


def test_an_image_of_elsewhere_in_a_saved_conversation_is_not_served(page: Page):
    from antiphon.conversation import Conversation

    svg = Image(base64.b64encode(b"<svg/>").decode(), "image/svg+xml")
    conversation = Conversation().add_user(["Look", svg, Image(url="https://evil.example/p.png")])
    id = Store().save(conversation.add_assistant("No."), model=GPT, command="chat")
    told = page(f"/{id}/transcript").json()
    assert [each["isShown"] for each in told["turns"][0]["pieces"][1:]] == [False, False]
    assert page(f"/{id}/transcript/image?turn=0&part=1").status_code == 404


@pytest.mark.parametrize(
    "given", [{}, {"text": " "}, {"text": 3}, {"text": "x", "files": {}}, {"text": "x", "tools": "most"},
              {"text": "x", "files": [PICTURE] * 11}, {"text": "x", "model": "nobody/x"}, {"text": "x", "model": 3}],
)  # fmt: skip
def test_what_cannot_be_said_is_refused_and_nothing_is_saved(fake: Fake, page: Page, given: Any):
    assert page("", given).status_code == 400
    assert (fake.requests, Store().list()) == ([], [])


# People


def test_a_call_waits_in_the_inbox_and_the_first_answer_counts(fake: Fake, page: Page, journal: Journal):
    fake.play(call("run_shell", command="echo hi > made"), "It is made.")
    id = begun(page, "Make it.", tools="all")
    run = asked(journal)
    assert not Path("made").exists()
    assert page(f"/{id}/transcript").json()["chat"]["run"] == run
    assert antiphon("answer", "last", "yes").code == 0
    assert antiphon("answer", "last", "no").code != 0
    told = settled(page, id)
    assert (said(told)[-1], Path("made").read_text()) == ("It is made.", "hi\n")
    calls = [each for turn in told["turns"] for each in turn["pieces"] if each["type"] == "call"]
    assert [(each["name"], each["state"]) for each in calls] == [("run_shell", "done")]
    opened = page(f"/{id}/transcript/call?turn=1&call={calls[0]['id']}").json()
    assert opened["call"]["arguments"][0]["name"] == "command"
    assert opened["views"][0]["kind"] == "terminal"
    assert until(lambda: journal.find(run).state == "done")


def test_a_killed_server_goes_on_and_does_nothing_twice(fake: Fake, page: Page, journal: Journal):
    fake.play(
        call("run_shell", command="echo once >> log"), call("run_shell", command="echo twice >> log"), "All is done."
    )
    code = (
        "import asyncio, sys, time\nfrom antiphon.durable import Journal\nfrom antiphon.web.chat import Chats\n"
        "chat = Chats(Journal()).begin({'text': 'Do it.', 'tools': 'all'})\nprint(chat.id, flush=True)\ntime.sleep(600)"
    )
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    id = server.stdout.readline().strip()
    run = asked(journal)
    assert antiphon("answer", run, "yes").code == 0
    until(Path("log").exists)
    assert asked(journal) == run
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    told = page(f"/{id}/transcript").json()
    assert (told["chat"]["state"], said(told)[0], told["chat"]["tools"]) == ("interrupted", "Do it.", "all")
    (waiting,) = journal.list_questions(run)
    answer = {"path": waiting.path, "hash": journal.find_effect(run, waiting.path).hash, "allowed": True}
    assert told["chat"]["run"] == run
    assert page(f"/{run}/answer", answer).json()["goesOn"]
    assert said(settled(page, id))[-1] == "All is done."
    assert Path("log").read_text() == "once\ntwice\n"
    assert len(fake.requests) == 3


def test_a_stop_ends_the_answer_and_what_it_asked(fake: Fake, page: Page, journal: Journal):
    fake.play(call("run_shell", command="rm -rf /"), "Never mind.")
    id = begun(page, "Make it.", tools="all")
    run = asked(journal)
    assert page(f"/{id}/send", {"text": "x"}).status_code == 409
    assert page(f"/{id}/settings", {"model": CLAUDE}).status_code == 409
    assert page(f"/{id}/stop", {}).status_code == 200
    told = settled(page, id)
    assert told["chat"]["error"]["kind"] == "stopped"
    assert page("/../questions").json()["questions"] == []
    assert journal.find(run).state == "cancelled"
    assert page(f"/{id}/stop", {}).status_code == 409
    page(f"/{id}/send", {"text": "Then not."})
    assert said(settled(page, id))[-1] == "Never mind."


def test_an_error_is_told_and_the_message_is_asked_again(fake: Fake, page: Page):
    fake.play(Fail(401, "no such key"), "Now.")
    id = begun(page, "Hello?")
    told = settled(page, id)
    assert "no such key" in told["chat"]["error"]["text"]
    assert said(told) == ["Hello?"]
    page(f"/{id}/retry", {})
    told = settled(page, id)
    assert (said(told), told["chat"]["error"]) == (["Hello?", "Now."], {})


def test_an_answer_that_broke_off_stays_and_is_continued(fake: Fake, page: Page):
    fake.play(Answer("One two three four five six. " * 40, cut_after=7), "The rest.")
    id = begun(page, "Count.")
    told = settled(page, id)
    assert (said(told)[1][:7], told["turns"][2]["isInterrupted"]) == ("One two", True)
    assert (told["chat"]["error"]["kind"], told["chat"]["isInterrupted"]) == ("failed", True)
    page(f"/{id}/continue", {})
    told = settled(page, id)
    assert (said(told)[-1], told["chat"]["isInterrupted"]) == ("The rest.", False)
    assert said(told)[1] in str(fake.requests[-1].body)


def test_a_request_that_is_sent_again_is_told(fake: Fake, journal: Journal):
    fake.play(Fail(529, "busy", retry_after=1), "Here.")
    chat = Chats(journal).begin({"text": "Hello?"})
    watch = TranscriptFeed(journal, chat)
    events: list[tuple[str, str, Any]] = []
    until(lambda: events.extend(watch.new()) or not chat.is_answering)
    told = [each for _, name, data in events if name == "answer" for each in data["retries"]]
    assert len(told) == 1
    assert "busy" in told[0]
    assert "attempt 2 of 5 in 1." in told[0]


def test_a_message_that_failed_does_not_go_along_with_the_next(fake: Fake, page: Page):
    fake.play(Fail(400, "no"), "Here.")
    id = begun(page, "First.")
    settled(page, id)
    page(f"/{id}/send", {"text": "Second."})
    told = settled(page, id)
    assert said(told) == ["Second.", "Here."]
    assert "First." in told["chat"]["notes"][-1]
    assert "First." not in str(fake.requests[-1].body)


def test_without_saving_a_chat_is_there_as_long_as_the_server(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("ANTIPHON_DB", "off")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    fake.play("One.")
    chats = Chats(Journal())
    id = chats.begin({"text": "Hello?"}).name
    until(lambda: not chats.open(id).is_answering)
    assert [turn.text for turn in chats.open(id).conversation.turns] == ["Hello?", "One."]
    assert [each["id"] for each in chats.list_unsaved()] == [id]
    assert not (tmp_path / "data" / "antiphon" / "antiphon.db").exists()


def test_a_chat_that_answers_is_not_deleted(fake: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    go_on = threading.Event()

    def held(_: Received) -> str:
        go_on.wait(60)
        return "One."

    fake.play(held)
    monkeypatch.setenv("ANTIPHON_DB", "off")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    chats = Chats(Journal())
    chat = chats.begin({"text": "Hello?"})
    with pytest.raises(NotReadyError, match="stop the answer first"):
        chats.delete(chat.name)
    go_on.set()
    until(lambda: not chat.is_answering)
    chats.delete(chat.name)
    assert chats.list_unsaved() == []


# As it comes


def test_pieces_are_sent_as_they_come_and_nothing_twice(fake: Fake, journal: Journal):
    go_on = threading.Event()

    def wait(_: Received) -> str:
        go_on.wait(60)
        return "The words of the answer."

    fake.play(wait)
    chats = Chats(journal)
    chat = chats.begin({"text": "Hello?"})
    watch, late = TranscriptFeed(journal, chat), None
    events: list[tuple[str, str, Any]] = []
    until(lambda: events.extend(watch.new()) or any(name == "turns" and each["turns"] for _, name, each in events))
    assert [turn.text for turn in until(lambda: Store().load(chat.id).turns)] == ["Hello?"]
    go_on.set()
    until(lambda: events.extend(watch.new()) or not chat.is_answering)
    events += watch.new()
    turns: list[Any] = []
    for _, name, data in events:
        if name == "turns":
            turns[data["from"] :] = data["turns"]
    # The state comes first: an answer that is seen can be stopped.
    kinds = [data["state"] if name == "chat" else name for _, name, data in events]
    # An answer that ends between two looks is only among the turns.
    assert "answering" in kinds[: kinds.index("answer") if "answer" in kinds else None]
    live = [data["said"]["open"] for _, name, data in events if name == "answer" and data["said"]]
    # What is open is sent whole each time, and nothing of it is closed before its end.
    assert all("The words of the answer.".startswith(words) for ((_, _, words),) in live)
    assert not any(data["said"]["closed"] for _, name, data in events if name == "answer" and data["said"])
    assert said({"turns": turns}) == ["Hello?", "The words of the answer."]
    assert [data["state"] for _, name, data in events if name == "chat"][-1] == "idle"
    assert any(name == "questions" for _, name, _ in events)
    assert watch.new() == []
    late = TranscriptFeed(journal, chat)
    assert [name for _, name, _ in late.new()] == ["turns", "accounts", "chat", "session", "questions"]


def test_others_cannot_act(fake: Fake, page: Page):
    elsewhere = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    for path in ("", "/x/send", "/x/stop", "/x/fork", "/x/settings", "/x/delete"):
        assert page(path, {"text": "x"}, **elsewhere).status_code == 403
    assert page("/no-such-chat/about").status_code == 404
    assert page("/..%2f..%2fx/about").status_code == 404
    assert fake.requests == []


# In a browser


@pytest.fixture
def site(journal: Journal) -> Iterator[Site]:
    made = Site(journal)
    yield made
    made.stop()


HOLD = """() => { const transfer = new DataTransfer();
    const content = Uint8Array.from(atob(%r), (each) => each.charCodeAt(0));
    transfer.items.add(new File([content], %r, { type: %r })); return transfer; }"""


def give(page: Any, event: str, name: str = "<b>cat</b>.png", kind: str = "image/png") -> None:
    """Paste or drop a file."""
    transfer = page.evaluate_handle(HOLD % (PNG, name, kind))
    made, held = ("ClipboardEvent", "clipboardData") if event == "paste" else ("DragEvent", "dataTransfer")
    page.evaluate(
        f"""([given, name]) => document.querySelector('.composer textarea').dispatchEvent(
        new {made}(name, {{ {held}: given, bubbles: true, cancelable: true }}))""",
        [transfer, event],
    )


def wait_said(page: Any, text: str) -> None:
    page.wait_for_selector(f".message.model .markdown:has-text('{text}')")
    page.wait_for_selector(".talked[data-state=idle]")


def test_a_chat_from_the_first_word_to_a_fork(browser: Any, fake: Fake, site: Site):
    go_on = threading.Event()

    def held(_: Received) -> Answer:
        go_on.wait(60)
        return Answer("Third **answer**.", reasoning="Let me see.")

    calls = call("run_shell", command="echo hi > made"), call("edit_file", path="made", old="hi", new="ho")
    fake.play(Answer("A *cat*.", usage=(90, 4)), *calls, "It is made.", held, "x")
    tab, other = Tab(browser, site), Tab(browser, site)
    page = tab.go("new")
    page.wait_for_selector(".composer textarea:focus")
    give(page, "paste")
    page.wait_for_selector(".thumbnails img[alt='<b>cat</b>.png']")
    give(page, "drop", "two.png")
    page.click("button[aria-label='Remove two.png']")
    give(page, "drop", "evil.svg", "image/svg+xml")
    page.click("button[aria-label='Remove evil.svg']")
    page.select_option("select[name=tools]", "all")
    page.keyboard.type("What is")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("this?")
    page.keyboard.press("Enter")
    wait_said(page, "A cat.")
    page.wait_for_function("() => document.querySelector('.message.user img')?.naturalWidth > 0")
    assert page.locator(".message.user .text").first.text_content() == "What is\nthis?"
    assert page.locator(".account").text_content().startswith(f"{GPT}90 → 4 tokens")
    id = page.get_attribute(".talked", "data-chat")
    other.go(f"sessions/{id}").wait_for_selector(".message.model")
    page.keyboard.type("Make it.")
    page.keyboard.press("Enter")
    page.wait_for_selector(".talk .waiting[data-about=approval] >> text=echo hi > made")
    assert page.locator(".message.model .account").all_text_contents()[1:] == [f"{GPT}Steps"]
    other.page.wait_for_selector(".top .count:has-text('1')")
    other.page.click(".talk .waiting >> text='Allow'")
    page.click(".talk .waiting:has-text('edit_file') >> text='Allow'")
    wait_said(page, "It is made.")
    # What was changed is open by itself, once, and the rest is not.
    page.wait_for_selector(".call:has-text('edit_file') .diff .added:has-text('ho')")
    assert page.locator(".call .result").evaluate_all("found => found.map(each => each.dataset.kind)")[0] == "diff"
    assert page.locator(".call .diff").count() == 1
    page.click(".call[data-state=done]:has-text('run_shell') > summary")
    page.wait_for_selector(".call .result[data-kind=terminal]")
    page.fill("input[name=model]", CLAUDE)
    page.keyboard.press("Enter")
    other.page.wait_for_function("(name) => document.querySelector('input[name=model]').value === name", arg=CLAUDE)
    page.focus(".composer textarea")
    page.keyboard.type("Once more")
    page.keyboard.press("Enter")
    page.wait_for_selector(".message.live")
    page.keyboard.press("Escape")
    page.wait_for_selector(".trouble:has-text('Stopped.')")
    go_on.set()
    fake.reset()
    fake.play("Retried.", "Forked.")
    page.click(".message.user .unanswered >> text=Retry")
    wait_said(other.page, "Retried.")
    page.locator(".message.user >> text=Edit").nth(1).click()
    page.wait_for_function("() => document.activeElement.matches('.message textarea')")
    page.keyboard.press("Control+A")
    page.keyboard.type("Make another.")
    page.keyboard.press("Enter")
    wait_said(page, "Forked.")
    page.wait_for_function("(id) => !location.hash.includes(id)", arg=id)
    words = page.evaluate("() => [...document.querySelectorAll('.message.user .text')].map((each) => each.textContent)")
    assert words == ["What is\nthis?", "Make another."]
    for each in (tab, other):
        each.close()
        assert each.complaints == []


def test_a_message_that_failed_is_sent_again_from_where_it_stands(browser: Any, fake: Fake, site: Site):
    fake.play("First.", Fail(401, "no such key"), Fail(401, "still none"), "Second.")
    tab = Tab(browser, site, bypass_csp=True)
    page = tab.go("new")
    page.wait_for_selector(".composer textarea:focus")
    for text, end in (("One?", ".message.model"), ("Two?", ".unanswered")):
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        page.wait_for_selector(end)
        page.wait_for_selector(".talked[data-state=idle]")
    retry = page.get_by_role("button", name="Retry: send this message again")
    article = page.locator(".message.user", has=page.locator(".unanswered"))
    assert article.locator(".text").text_content() == "Two?"
    assert retry.count() == 1
    assert page.locator(".trouble button").count() == 0
    # By the keyboard; and once more after the page was loaded anew.
    retry.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".trouble:has-text('still none')")
    page.reload()
    retry.focus()
    page.evaluate(AXE.read_text())
    assert page.evaluate("async () => (await axe.run()).violations.map((each) => each.id)") == []
    page.keyboard.press("Space")
    wait_said(page, "Second.")
    assert page.locator(".message.user .text").all_text_contents() == ["One?", "Two?"]
    assert (retry.count(), str(fake.requests[-1].body).count("Two?")) == (0, 1)
    tab.close()
    assert [each for each in tab.complaints if "401" not in each] == []


#: Escape is pressed in the very moment in which the answer is shown.
PRESS_AT_ONCE = """() => new MutationObserver((_, watcher) => {
  if (!document.querySelector(".message.live")) return;
  watcher.disconnect();
  window.pressed = true;
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
}).observe(document.body, { childList: true, subtree: true })"""


def test_an_answer_can_be_stopped_as_soon_as_it_is_shown(browser: Any, fake: Fake, site: Site):
    go_on = threading.Event()

    def held(_: Received) -> str:
        go_on.wait(60)
        return "Second."

    fake.play("First.", held)
    tab = Tab(browser, site)
    page = tab.go("new")
    page.wait_for_selector(".composer textarea:focus")
    page.keyboard.type("One?")
    page.keyboard.press("Enter")
    wait_said(page, "First.")
    page.wait_for_selector(".talked[data-state=idle]")
    page.evaluate(PRESS_AT_ONCE)
    page.keyboard.type("Two?")
    page.keyboard.press("Enter")
    page.wait_for_function("() => window.pressed")
    page.wait_for_selector(".trouble:has-text('Stopped.')")
    go_on.set()
    tab.close()
    assert tab.complaints == []


HOSTILE = (
    "<img src=https://evil.example/p.png onerror=document.title='owned'>\u202e\x1b[31m ![p](https://evil.example/p.png)"
)


def test_a_hostile_model_does_nothing_and_there_is_no_barrier(browser: Any, fake: Fake, site: Site):
    Path("a.txt").write_text(HOSTILE)
    Path("b.txt").write_text("one\ntwo\n")
    fake.play(
        Answer("I look at it first.", reasoning="Which file?", calls=[call("read_file", path="b.txt")]),
        Answer("There are **two** lines:\n\n| line | words |\n|---|---|\n| one | 1 |\n| two | 1 |\n", usage=(410, 32)),
        call("read_file", path="a.txt"),
        Answer(f"# {HOSTILE}\n\n[a](javascript:alert(1)) <script>document.title='owned'</script>", reasoning=HOSTILE),
        call("run_shell", command="rm -r build"),
    )
    tab = Tab(browser, site, color_scheme="light", reduced_motion="reduce", bypass_csp=True)
    page = tab.go("new")
    page.select_option("select[name=tools]", "all")
    page.fill(".composer textarea", "What is in b.txt?")
    page.keyboard.press("Enter")
    wait_said(page, "There are two lines")
    give(page, "paste", "notes.png")
    page.wait_for_selector(".thumbnails img")
    page.wait_for_timeout(200)
    barriers(page, "chat")
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1100, "height": 800})
    page.fill(".composer textarea", HOSTILE)
    page.keyboard.press("Enter")
    wait_said(page, "evil.example")
    page.locator(".call > summary").last.click()
    page.locator(".thinking > summary").last.click()
    page.wait_for_selector(".call .opened .result")
    page.fill(".composer textarea", "Now clean up.")
    page.keyboard.press("Enter")
    page.wait_for_selector(".talk .waiting")
    seen = "() => document.querySelector('.talk .waiting').getBoundingClientRect().bottom < innerHeight"
    page.wait_for_function(seen)
    barriers(page)
    assert "owned" not in page.title()
    shown = page.text_content("main")
    assert not {"\u202e", "\x1b"} & {*shown}
    hrefs = page.evaluate("() => [...document.querySelectorAll('a[href]')].map((each) => each.href)")
    assert not [each for each in hrefs if each.lower().startswith(("javascript:", "data:"))]
    assert page.evaluate("() => document.querySelectorAll('.talk img:not(.sent), iframe, main script').length") == 0
    page.keyboard.press("Escape")
    page.wait_for_selector(".trouble:has-text('Stopped.')")
    tab.close()
    assert tab.complaints == []


def barriers(page: Any, name: str = "") -> None:
    page.evaluate(AXE.read_text())
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        if name and os.environ.get("UPDATE_PICTURES"):
            page.screenshot(path=PICTURES / f"page-{name}-{scheme}.png")
        found = page.evaluate("() => axe.run()")
        assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]] == []
