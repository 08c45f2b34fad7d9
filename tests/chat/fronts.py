"""The fronts of a chat, as a person or a program uses them: the terminal, the page, AG-UI, and Python.

The page is there twice: its routes, and what people see and press in a browser.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon import Store
from antiphon.chat.chat import Chat
from antiphon.chat.reply import Reply
from antiphon.chat.service import ChatOptions, ChatService
from antiphon.chat.tool_selection import ToolSelection
from antiphon.conversation import Image, UserTurn
from antiphon.durable import Journal
from antiphon.effects import HumanAnswer
from antiphon.session import QuestionAsked
from antiphon.web import app
from antiphon.wire import TextDelta
from tests.chat.holding import MARK, Proxy
from tests.cli.terminal import Terminal
from tests.web.agui_client import Client
from tests.web.browser import FLAGS, TOKEN, Site, chromium
from tests.web.tabs import Tab

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGM4YWGBBzGMSmNDAFmUW/e/aNr3AAAAAElFTkSuQmCC"


class Front:
    """A chat with tools. `say` and the others return when the answer is saved."""

    def __init__(self, place: Path, proxy: Proxy, env: dict[str, str]) -> None:
        self.place, self.proxy, self.env = place, proxy, env

    @property
    def id(self) -> str:
        raise NotImplementedError

    def transcript(self, id: str = "") -> list[str]:
        """What is saved of the chat, one line for each turn that somebody said."""
        with Store(self.place / "logs.db") as store:
            turns = store.load(id or self.id).turns
        lines: list[str] = []
        for turn in turns:
            text = " ".join(turn.text.partition(" @")[0].split())
            if isinstance(turn, UserTurn):
                images = sum(isinstance(part, Image) for part in turn.parts)
                lines += [f"user: {text}{' +image' * images}"] if turn.visible_parts else []
            elif text:
                lines.append(f"model: {text}")
        return lines

    def close(self) -> None: ...


class InTerminal(Front):
    """`antiphon chat` in a terminal."""

    def __init__(self, place: Path, proxy: Proxy, env: dict[str, str]) -> None:
        super().__init__(place, proxy, env)
        (place / "dot.png").write_bytes(base64.b64decode(PNG))
        self._terminal = Terminal("chat", "--tools", "all", env=env, cwd=place, columns=200)
        self._id = ""
        self._prompt()

    @property
    def id(self) -> str:
        if not self._id:
            with Store(self.place / "logs.db") as store:
                self._id = store.find("last").id
        return self._id

    def _prompt(self) -> None:
        self._terminal.expect("› ")

    def _line(self, line: str, shown: str = r"\w · [\d,]+ (in|call)") -> None:
        """Type a line, and wait for what comes of it: the summary of an answer, which begins with the model."""
        self._terminal.send(f"{line}\n")
        self._terminal.expect_match(shown)
        self._prompt()

    def send(self, text: str) -> None:
        self._line(text)

    def stream(self, text: str) -> str:
        seen = len(self._terminal.seen)
        self._line(text)
        return self._terminal.seen[seen:]

    def attach(self, text: str) -> None:
        self._line(f"{text} @dot.png ")

    def answer(self, text: str) -> None:
        self._terminal.send(f"{text}\n")
        self._terminal.expect("[a]lways")
        self._line("y")

    def stop(self, text: str) -> None:
        self._terminal.send(f"{text}\n")
        assert self.proxy.holds.wait(60)
        self._terminal.expect("§")
        self._terminal.send("\x03")
        self._terminal.expect("stopped")
        self._prompt()

    def continue_answer(self) -> None:
        self._line("/go")

    def retry(self) -> None:
        self._line("/retry")

    def undo(self) -> None:
        self._line("/undo", "removed 1 message")

    def compact(self) -> None:
        # The copy of the full chat is the newest session until this one is closed.
        assert self.id
        self._line("/compact", "summarized")

    def edit(self, turn: int, text: str) -> None:
        del turn
        self._terminal.send("/edit\n")
        self._terminal.expect_match("change the message and send it")
        self._prompt()
        # Ctrl-U empties the line, which holds the old message.
        self._line(f"\x15{text}")
        self._id = ""

    def fork(self) -> None:
        self._terminal.send("/fork\n")
        shown = self._terminal.expect("is unchanged")
        self._id = shown.partition("in the copy ")[2].partition(";")[0]
        self._prompt()

    def use_model(self, name: str) -> None:
        self._line(f"/model {name}", f"model: {name}|{name} ·")

    def close(self) -> None:
        self._terminal.__exit__(None, None, None)


class OnPage(Front):
    """The routes of the page."""

    def __init__(self, place: Path, proxy: Proxy, env: dict[str, str]) -> None:
        super().__init__(place, proxy, env)
        self.journal = Journal(place / "logs.db")
        self._site = Site(self.journal)
        self._client = httpx2.Client(
            base_url=self._site.url, headers={"origin": self._site.url, "sec-fetch-site": "same-origin"}, timeout=60
        )
        self._client.get("/login", params={"token": TOKEN})
        self._id = ""

    @property
    def id(self) -> str:
        return self._id

    def _ask(self, path: str, given: Any = None) -> Any:
        response = self._client.get(f"/api{path}") if given is None else self._client.post(f"/api{path}", json=given)
        assert response.status_code == 200, response.text
        return response.json()

    def _act(self, what: str, given: Any) -> None:
        self._id = self._ask(f"/sessions/{self._id}/{what}", given)["id"]
        self._settle()

    def _settle(self) -> None:
        wait_until(lambda: self._ask(f"/sessions/{self._id}/transcript")["chat"]["state"] != "answering")

    def _begin(self, given: Any) -> None:
        path = f"/sessions/{self._id}/send" if self._id else "/sessions"
        self._id = self._ask(path, {"tools": "all", **given})["id"]

    def send(self, text: str) -> None:
        self._begin({"text": text})
        self._settle()

    def stream(self, text: str) -> str:
        self.send(text)
        told = self._ask(f"/sessions/{self._id}/transcript")
        return " ".join(each.get("text", "") for turn in told["turns"] for each in turn["pieces"])

    def attach(self, text: str) -> None:
        self._begin({"text": text, "files": [{"name": "dot.png", "data": PNG}]})
        self._settle()

    def answer(self, text: str) -> None:
        self._begin({"text": text})
        wait_until(lambda: self.journal.list_questions(self._id))
        (question,) = self.journal.list_questions(self._id)
        given = {"path": question.path, "hash": self.journal.find_effect(self._id, question.path).hash}
        self._ask(f"/sessions/{self._id}/answer", {**given, "allowed": True})
        self._settle()

    def stop(self, text: str) -> None:
        self._begin({"text": text})
        with self._client.stream("GET", f"/api/sessions/{self._id}/events?view=transcript") as stream:
            next(filter(_has_mark, stream.iter_lines()))
        self._act("stop", {})

    def continue_answer(self) -> None:
        self._act("continue", {})

    def retry(self) -> None:
        self._act("retry", {})

    def edit(self, turn: int, text: str) -> None:
        self._act("edit", {"turn": turn, "text": text})

    def undo(self) -> None:
        self._act("undo", {})

    def fork(self) -> None:
        self._act("fork", {})

    def compact(self) -> None:
        self._act("compact", {})

    def use_model(self, name: str) -> None:
        self._act("settings", {"model": name})

    def close(self) -> None:
        self._client.close()
        self._site.stop()
        self.journal.close()


class InBrowser(Front):
    """The page in a browser, by the keyboard and by the names of its buttons."""

    def __init__(self, place: Path, proxy: Proxy, env: dict[str, str]) -> None:
        super().__init__(place, proxy, env)
        sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
        path = chromium()
        self.journal = Journal(place / "logs.db")
        self._site = Site(self.journal)
        self._playwright = sync_api.sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=path, args=FLAGS)
        self.tab = Tab(self._browser, self._site)
        self.page = self.tab.go("new")
        self.page.select_option("select[name=tools]", "all")

    @property
    def id(self) -> str:
        return self.page.get_attribute(".talked", "data-chat")

    def _await_answer(self, act: Callable[[], Any]) -> None:
        """Do something that the model answers, and wait until the answer is over."""
        before = self.page.get_attribute(".talked", "data-number")
        chat = self.page.get_attribute(".talked", "data-chat")
        act()
        self.page.wait_for_function(
            """([before, chat]) => { const now = document.querySelector('.talked[data-state=idle]')?.dataset;
            return now && (now.number !== before || now.chat !== chat); }""",
            arg=[before, chat],
        )

    def _await_chat(self, act: Callable[[], Any]) -> None:
        before = self.id
        act()
        self.page.wait_for_function(
            "(before) => (document.querySelector('.talked')?.dataset.chat ?? before) !== before", arg=before
        )

    def write(self, text: str) -> None:
        self.page.locator("textarea[aria-label='Your message']").last.fill(text)
        self.page.keyboard.press("Enter")

    def press(self, name: str) -> None:
        """Press a button by the keyboard."""
        self.page.get_by_role("button", name=name, exact=True).last.press("Enter")

    def choose(self, name: str) -> None:
        """Press a button of the menu."""
        self.page.locator("summary", has_text="Actions").press("Enter")
        self.press(name)

    def send(self, text: str) -> None:
        self._await_answer(lambda: self.write(text))

    def stream(self, text: str) -> str:
        self.send(text)
        return self.page.inner_text(".talked")

    def attach(self, text: str) -> None:
        file: Any = {"name": "dot.png", "mimeType": "image/png", "buffer": base64.b64decode(PNG)}
        self.page.set_input_files("input[type=file]", [file])
        self.page.wait_for_selector(".thumbnails img")
        self.send(text)

    def answer(self, text: str) -> None:
        self.write(text)
        self.page.wait_for_selector(".waiting")
        self._await_answer(lambda: self.press("Allow"))

    def stop(self, text: str) -> None:
        self.write(text)
        self.page.wait_for_selector(f".live:has-text('{MARK}')")
        self._await_answer(lambda: self.page.keyboard.press("Escape"))
        self.page.wait_for_selector(".trouble:has-text('Stopped.')")

    def continue_answer(self) -> None:
        self._await_answer(lambda: self.press("Resume"))

    def retry(self) -> None:
        self._await_answer(lambda: self.press("Try again: ask for another answer"))

    def edit(self, turn: int, text: str) -> None:
        message = self.page.locator(f".message.user[data-turn='{turn}']")
        message.get_by_role("button", name="Edit this message").press("Enter")
        self.page.wait_for_selector(".message textarea:focus")
        self._await_chat(lambda: (self.page.keyboard.press("Control+A"), self.page.keyboard.type(text),
                                  self.page.keyboard.press("Enter")))  # fmt: skip
        self.page.wait_for_selector(".talked[data-state=idle] .message.model >> nth=1")

    def undo(self) -> None:
        self.choose("Undo the last message")
        self.page.wait_for_selector(".outcome .note:has-text('Removed 1 message')")

    def fork(self) -> None:
        self._await_chat(lambda: self.choose("Copy this chat"))

    def compact(self) -> None:
        self.choose("Compact the history")
        self.page.wait_for_selector(".outcome .note:has-text('summary')")

    def use_model(self, name: str) -> None:
        with self.page.expect_response("**/settings"):
            self.page.fill("input[name=model]", name)
            self.page.keyboard.press("Enter")

    def close(self) -> None:
        self.tab.close()
        self._browser.close()
        self._playwright.stop()
        self._site.stop()
        self.journal.close()
        assert self.tab.complaints == [], self.tab.complaints


class OverAgui(Front):
    """A client of AG-UI."""

    def __init__(self, place: Path, proxy: Proxy, env: dict[str, str]) -> None:
        super().__init__(place, proxy, env)
        self.journal = Journal(place / "logs.db")
        self._options: dict[str, Any] = {"journal": self.journal, "model": env["ANTIPHON_MODEL"], "tools": "all"}
        self._client = Client(app(token=TOKEN, **self._options), "thread-of-all-fronts")
        self._wishes: dict[str, Any] = {}

    @property
    def id(self) -> str:
        return self._client.thread

    def _more(self, **wishes: str) -> dict[str, Any]:
        return {"forwardedProps": {"antiphon": {**self._wishes, **wishes}}}

    def _run(self, **wishes: str) -> list[dict[str, Any]]:
        events = self._client.run(**self._more(**wishes))
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        return events

    def _say(self, content: Any) -> None:
        self._client.messages.append({"id": f"u{time.monotonic_ns()}", "role": "user", "content": content})

    def send(self, text: str) -> None:
        self.stream(text)

    def stream(self, text: str) -> str:
        self._say(text)
        return "".join(each.get("delta", "") for each in self._run())

    def attach(self, text: str) -> None:
        source = {"type": "data", "value": PNG, "mimeType": "image/png"}
        self._say([{"type": "text", "text": text}, {"type": "image", "source": source}])
        self._run()

    def answer(self, text: str) -> None:
        self._say(text)
        (interrupt,) = self._run()[-1]["outcome"]["interrupts"]
        entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        self._client.run(resume=[entry])

    def stop(self, text: str) -> None:
        site = Site(self.journal, model=self._options["model"], tools="all")
        self._say(text)
        given = {"threadId": self.id, "runId": "stopped", "messages": self._client.messages}
        headers = {"authorization": f"Bearer {TOKEN}"}
        try:
            with httpx2.stream("POST", f"{site.url}/agui", json=given, headers=headers, timeout=60) as stream:
                next(filter(_has_mark, stream.iter_lines()))
            wait_until(lambda: self.journal.find(self.id).state == "cancelled")
        finally:
            site.stop()
        # The client takes what is saved.
        ours = Client(self._client.page, self.id)
        ours.runs = 500
        ours.messages = [{"id": "x", "role": "user", "content": "Something else."}]
        ours.run()
        self._client.messages = ours.messages

    def continue_answer(self) -> None:
        self._run()

    def retry(self) -> None:
        self._run(action="retry")

    def edit(self, turn: int, text: str) -> None:
        self._copy(self._client.messages[:turn])
        self.send(text)

    def undo(self) -> None:
        self._run(action="undo")

    def fork(self) -> None:
        self._copy(self._client.messages)

    def compact(self) -> None:
        self._run(action="compact")

    def use_model(self, name: str) -> None:
        self._wishes["model"] = name

    def _copy(self, messages: list[dict[str, Any]]) -> None:
        self._client = Client(self._client.page, f"{self.id}-copy")
        self._client.messages = [*messages]

    def close(self) -> None:
        self.journal.close()


class InPython(Front):
    """The chat service in a program."""

    def __init__(self, place: Path, proxy: Proxy, env: dict[str, str]) -> None:
        super().__init__(place, proxy, env)
        self.chat: Chat = ChatService().open(ChatOptions(tools=ToolSelection("all")))

    @property
    def id(self) -> str:
        return self.chat.id

    def send(self, text: str) -> None:
        self.chat.send(text).result()

    def stream(self, text: str) -> str:
        async def stream() -> str:
            reply = self.chat.send(text)
            said = [each.body.text async for each in reply.aevents() if isinstance(each.body, TextDelta)]
            await reply.aresult()
            return "".join(said)

        return asyncio.run(stream())

    def attach(self, text: str) -> None:
        self.chat.send([text, self.chat.attach(base64.b64decode(PNG))]).result()  # type: ignore[list-item]

    def answer(self, text: str) -> None:
        reply = self.chat.send(text)
        for event in reply.events():
            if isinstance(event.body, QuestionAsked):
                self.chat.answer(event.body.question, HumanAnswer(allowed=True))
        reply.result()

    def stop(self, text: str) -> None:
        reply = self.chat.send(text)
        assert self.proxy.holds.wait(60)
        _wait_for_text(reply)
        reply.stop()
        wait_until(lambda: reply.is_over)
        assert not self.chat.is_answering

    def continue_answer(self) -> None:
        self.chat.continue_answer().result()

    def retry(self) -> None:
        self.chat.ask_again().result()

    def edit(self, turn: int, text: str) -> None:
        self.chat.edit(turn, text).result()

    def undo(self) -> None:
        self.chat.undo()

    def fork(self) -> None:
        self.chat.fork()

    def compact(self) -> None:
        self.chat.compact()

    def use_model(self, name: str) -> None:
        self.chat.use_model(name)

    def close(self) -> None:
        self.chat.close()


FRONTS: dict[str, type[Front]] = {
    "terminal": InTerminal, "page": OnPage, "browser": InBrowser, "agui": OverAgui, "python": InPython
}  # fmt: skip


def wait_until(what: Callable[[], Any]) -> None:
    ends = time.monotonic() + 60
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.02)


def _wait_for_text(reply: Reply) -> None:
    """Wait until the piece at which the answer holds has arrived."""
    for event in reply.events():
        if isinstance(event.body, TextDelta) and MARK in event.body.text:
            return


def _has_mark(line: str) -> bool:
    return MARK in line or "\\u00a7" in line
