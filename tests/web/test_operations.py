"""What can be done with a chat on the page, by the keyboard and by the names of the controls.

`tests/chat/test_fronts.py` does what all fronts have in common in a browser too; here is the rest.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.durable import Store
from antiphon.fakes import Answer, Fake, Received, call
from tests.web.browser import Site
from tests.web.tabs import AXE, Tab
from tests.web.test_chat import fake, journal, site, wait_said  # noqa: F401

CODE = "Here:\n\n```python\nprint('<b>')\n```\n\nIt *prints*."


class Person:
    """Somebody at a chat, with a keyboard."""

    def __init__(self, tab: Tab, fake: Fake) -> None:  # noqa: F811
        self.tab, self.page, self.fake = tab, tab.go("new"), fake
        tab.context.grant_permissions(["clipboard-read", "clipboard-write"])

    @property
    def id(self) -> str:
        return self.page.get_attribute(".talked", "data-chat")

    def say(self, text: str, answer: Any = "Fine.", tools: str = "") -> None:
        self.fake.play(answer)
        if tools:
            self.page.select_option("select[name=tools]", tools)
        messages = self.page.locator(".message.model").count()
        self.page.locator("textarea[aria-label='Your message']").fill(text)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector(f".message.model:not(.live) >> nth={messages}")
        self.page.wait_for_selector(".talked[data-state=idle]")

    def press(self, name: str, place: int = -1) -> None:
        self.page.get_by_role("button", name=name, exact=True).nth(place).press("Enter")

    def open_menu(self) -> None:
        self.page.locator("summary", has_text="Actions").press("Enter")

    def copied(self) -> str:
        return self.page.evaluate("() => navigator.clipboard.readText()")


def rename(person: Person) -> None:
    person.say("Hello?")
    person.open_menu()
    person.press("Rename")
    person.page.wait_for_selector("form.rename input:focus")
    person.page.keyboard.type("Greetings <b>")
    person.page.keyboard.press("Enter")
    person.page.wait_for_selector("h1:has-text('Greetings <b>')")
    assert Store().find(person.id).title == "Greetings <b>"


def delete(person: Person) -> None:
    person.say("Hello?")
    id = person.id
    person.open_menu()
    person.press("Delete")
    assert Store().find(id).id == id
    person.press("Delete permanently")
    person.page.wait_for_selector(".empty:has-text('There are no sessions yet')")
    assert Store().list() == []


def copy_answers_and_code(person: Person) -> None:
    person.say("Show it.", CODE)
    person.press("Copy this answer")
    person.page.wait_for_selector(".does >> text=Copied")
    assert person.copied() == CODE
    person.press("Copy this code")
    person.page.wait_for_selector(".fence >> text=Copied")
    assert person.copied() == "print('<b>')"


def set_the_system_text(person: Person) -> None:
    person.page.locator("summary", has_text="System text").press("Enter")
    person.page.get_by_role("textbox", name="System text").fill("Be brief.")
    person.press("Save")
    person.page.wait_for_selector(".system [role=status]:has-text('Saved.')")
    person.say("Hello?")
    assert "Be brief." in json.dumps(person.fake.requests[-1].body)
    person.page.locator("summary", has_text="System text").press("Enter")
    person.page.get_by_role("textbox", name="System text").fill("Be kind.")
    with person.page.expect_response("**/settings"):
        person.press("Save")
    person.say("And you?")
    assert "Be kind." in json.dumps(person.fake.requests[-1].body)
    assert Store().load(person.id).system == "Be kind."


def attach_texts_and_documents(person: Person) -> None:
    files: list[Any] = [{"name": name, "mimeType": kind, "buffer": content} for name, kind, content in (
        ("<b>.txt", "text/plain", b"the words of it"), ("b.pdf", "application/pdf", b"%PDF-1.4 x"),
        ("c.bin", "application/octet-stream", b"\0\1"))]  # fmt: skip
    person.page.set_input_files("input[type=file]", files)
    person.page.wait_for_selector(".thumbnails .badge:has-text('<b>.txt')")
    person.page.locator("textarea[aria-label='Your message']").fill("Read them.")
    person.page.keyboard.press("Enter")
    # What cannot be sent is named, and what was written stays.
    person.page.wait_for_selector(".composer .failure:has-text('c.bin')")
    person.tab.complaints.clear()
    person.press("Remove c.bin")
    person.say("Read them.")
    person.page.wait_for_selector(".message.user .text:has-text('the words of it')")
    person.page.wait_for_selector(".message.user .file:has-text('b.pdf')")
    sent = json.dumps(person.fake.requests[-1].body)
    assert "the words of it" in sent
    assert base64.b64encode(b"%PDF-1.4 x").decode() in sent


def undo_with_files(person: Person) -> None:
    Path("a.txt").write_text("before")
    person.fake.play(call("write_file", path="a.txt", content="after"), call("run_shell", command="echo hi > made"))
    person.fake.play("Done.")
    person.page.select_option("select[name=tools]", "all")
    person.page.locator("textarea[aria-label='Your message']").fill("Write it.")
    person.page.keyboard.press("Enter")
    for name in ("write_file", "run_shell"):
        person.page.wait_for_selector(f".waiting:not(.settled):has-text('{name}')")
        person.page.locator(f".waiting:not(.settled):has-text('{name}') .primary").press("Enter")
    wait_said(person.page, "Done.")
    person.open_menu()
    person.press("Undo the last message")
    person.page.wait_for_selector(".outcome .note >> nth=2")
    assert person.page.locator(".outcome .note").all_text_contents() == [
        "Removed 1 message: Write it.",
        "Restored: a.txt",
        'Not undone: run_shell({"command": "echo hi > made"})',
    ]
    # The stream brings the shorter transcript, perhaps after the answer to the request.
    person.page.wait_for_selector(".message", state="detached")
    assert Path("a.txt").read_text() == "before"


def fork_at_a_message(person: Person) -> None:
    person.say("One?", "First.")
    person.say("Two?", "Second.")
    before = person.id
    person.press("Fork: continue from here in a copy", 0)
    person.page.wait_for_function("(id) => (document.querySelector('.talked')?.dataset.chat ?? id) !== id", arg=before)
    person.page.wait_for_selector(".message.model")
    assert person.page.locator(".message .text, .message .markdown").all_inner_texts() == ["One?", "First."]
    person.say("Three?", "Third.")
    assert [turn.text for turn in Store().load(before).turns] == ["One?", "First.", "Two?", "Second."]
    assert [turn.text for turn in Store().load(person.id).turns] == ["One?", "First.", "Three?", "Third."]


def see_the_steps(person: Person) -> None:
    person.say("Hello?")
    person.page.get_by_role("link", name="Steps", exact=True).first.press("Enter")
    person.page.wait_for_selector(".step[data-path='1/r1'][data-state=done]")
    person.page.get_by_role("link", name="Transcript", exact=True).press("Enter")
    wait_said(person.page, "Fine.")
    person.page.locator(".account a").press("Enter")
    person.page.wait_for_selector(".step[data-path='1']")


OPERATIONS: list[Callable[[Person], None]] = [
    rename,
    delete,
    copy_answers_and_code,
    set_the_system_text,
    attach_texts_and_documents,
    undo_with_files,
    fork_at_a_message,
    see_the_steps,
]


@pytest.fixture
def person(browser: Any, fake: Fake, site: Site) -> Iterator[Person]:  # noqa: F811
    tab = Tab(browser, site, bypass_csp=True)
    yield Person(tab, fake)
    tab.close()
    assert tab.complaints == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.__name__)
def test_it_is_done_by_the_keyboard(person: Person, operation: Callable[[Person], None]):
    operation(person)
    person.page.evaluate(AXE.read_text())
    assert person.page.evaluate("async () => (await axe.run()).violations.map((each) => each.id)") == []


# Stopping


@pytest.fixture
def held(fake: Fake) -> Iterator[threading.Event]:  # noqa: F811
    """An answer that comes when it is let go."""
    go_on = threading.Event()

    def answer(_: Received) -> Answer:
        go_on.wait(60)
        return Answer("Too late.")

    fake.play(answer)
    yield go_on
    go_on.set()


def test_escape_stops_a_message_that_is_still_on_its_way(person: Person, held: threading.Event):
    passes: list[Any] = []
    person.page.route("**/api/sessions", lambda route: passes.append(route))
    person.page.locator("textarea").first.fill("Count.")
    person.page.keyboard.press("Enter")
    while not passes:
        person.page.wait_for_timeout(20)
    person.page.keyboard.press("Escape")
    passes[0].continue_()
    person.page.wait_for_selector(".trouble:has-text('Stopped.')")
    assert not held.is_set()
    # It may be stopped before the model is asked.
    person.fake.reset()


def test_escape_in_a_menu_closes_it_and_stops_nothing(person: Person, held: threading.Event):
    person.page.locator("textarea").first.fill("Count.")
    person.page.keyboard.press("Enter")
    person.page.wait_for_selector(".message.live")
    person.open_menu()
    person.page.keyboard.press("Escape")
    person.page.wait_for_selector(".menu:not([open])")
    assert person.page.get_attribute(".talked", "data-state") == "answering"
    held.set()
    wait_said(person.page, "Too late.")
