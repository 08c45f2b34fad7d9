"""What a model wrote, drawn by the page and by the terminal: the same words."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon import Store
from antiphon.conversation import Conversation
from antiphon.durable import Journal
from antiphon.results import text
from antiphon.terminal import make_console, make_renderable
from tests.answers import ANSWERS, NASTY, SENTENCES
from tests.web.browser import Site
from tests.web.tabs import Tab

#: The text of an element as a terminal has it: with the marks of lists, and with where links lead.
READ = """(roots) => {
  const read = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.tagName === "BUTTON") return "";
    if (node.tagName === "INPUT") return node.checked ? "[x]" : "[ ]";
    if (node.tagName === "BR") return " ";
    const inside = [...node.childNodes].map(read).join("");
    if (node.tagName === "LI" && node.parentNode.tagName === "OL")
      return `${(node.parentNode.start ?? 1) + [...node.parentNode.children].indexOf(node)} ${inside}`;
    // A link that leads nowhere on the page says where it would lead.
    if (node.tagName !== "A" || !node.hasAttribute("href")) return inside;
    const to = decodeURI(node.getAttribute("href")).replace(/^mailto:/, "").replace(/^http:\\/\\/www/, "www");
    return to.replace(/\\/$/, "") === inside ? inside : `${inside} (${to}${node.title ? ` "${node.title}"` : ""})`;
  };
  return roots.map(read);
}"""


def terminal(answer: str) -> str:
    file = io.StringIO()
    make_console(file, 2000).print(make_renderable(text(answer, markdown=True), full=True), end="")
    return file.getvalue()


def characters(seen: str) -> str:
    """What is seen without white space, and without the lines, dots and fences that only a terminal draws."""
    return re.sub(r"\(mailto:[^)]*\)|^```(?=python )|[\s•▌─]", "", seen.replace("[X]", "[x]"))


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    monkeypatch.setenv("ANTIPHON_MODEL", "openai/gpt-5")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
    made = Journal()
    yield made
    made.close()


def test_the_page_and_the_terminal_draw_the_same_text(tab: Tab, site: Site, journal: Journal):  # noqa: ARG001
    conversation = Conversation()
    answers = (*ANSWERS, *NASTY)
    for answer in answers:
        conversation.add_user("Go on.").add_assistant(answer)
    id = Store().save(conversation, model="openai/gpt-5", command="chat")
    page: Any = tab.go(f"sessions/{id}")
    page.wait_for_function("(n) => document.querySelectorAll('.markdown > *').length >= n", arg=len(answers))
    drawn = page.locator(".message.model .markdown").evaluate_all(READ)
    assert len(answers) == 280
    differing = [
        (answer, characters(seen), characters(terminal(answer)))
        for answer, seen in zip(answers, drawn, strict=True)
        if characters(seen) != characters(terminal(answer))
    ]
    assert differing == []
    assert all(word in "".join(drawn) for word in ("get_user_by_id", "list[str]", "[[1, 2], [3, 4]]", "$HOME"))
    assert len(SENTENCES) * 8 == len(ANSWERS)
