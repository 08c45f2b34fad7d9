"""One table drives all fronts: whatever is done in one of them, the same is said, and the same is saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from antiphon.fakes import Fake, call
from tests.chat.fronts import FRONTS, Front
from tests.chat.holding import Proxy

#: An answer that holds, and the part of it that arrives before.
COUNT, PART = "One two § three four.", "One two § thre"
LONG = "Fine words. " * 200
GPT, CLAUDE = "openai/gpt-5", "anthropic/claude-sonnet-5"


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def open_front(tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    parts = urlsplit(fake.base_url("openai"))
    proxy = Proxy(f"{parts.scheme}://{parts.netloc}")
    (tmp_path / "work").mkdir()
    env = {
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"],
        "ANTIPHON_DB": str(tmp_path / "work" / "logs.db"),
        "ANTIPHON_MODEL": GPT,
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    for name, api in (("OPENAI", "openai"), ("ANTHROPIC", "anthropic")):
        env[f"{name}_API_KEY"] = "any"
        env[f"{name}_BASE_URL"] = proxy.url + urlsplit(fake.base_url(api)).path
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path / "work")
    opened: list[Front] = []

    def begin(name: str) -> Front:
        front = FRONTS[name](tmp_path / "work", proxy, env)
        opened.append(front)
        return front

    yield begin
    for front in opened:
        front.close()
    proxy.close()


@dataclass(frozen=True)
class Row:
    """What the model answers, what is done, and what is saved then."""

    answers: list[Any]
    act: Callable[[Any], Any]
    saved: list[str]


def many(*acts: Callable[[Any], Any]) -> Callable[[Any], None]:
    def act(front: Any) -> None:
        for each in acts:
            each(front)

    return act


def said(text: str) -> Callable[[Any], Any]:
    return lambda front: front.send(text)


ROWS = {
    "send": Row(["Hi.", "Fine."], many(said("Hello?"), said("And you?")),
                ["user: Hello?", "model: Hi.", "user: And you?", "model: Fine."]),
    "attach": Row(["A dot."], lambda front: front.attach("What is it?"), ["user: What is it? +image", "model: A dot."]),
    "answer": Row([call("write_file", path="a.txt", content="x"), "Written."], lambda front: front.answer("Write it."),
                  ["user: Write it.", "model: Written."]),
    "stop": Row([COUNT], lambda front: front.stop("Count."),
                ["user: Count.", f"model: {PART}"]),
    "stop and continue": Row([COUNT, "e four."],
                             many(lambda front: front.stop("Count."), lambda front: front.continue_answer()),
                             ["user: Count.", f"model: {PART}", "model: e four."]),
    "stop and send": Row([COUNT, "Bye."],
                         many(lambda front: front.stop("Count."), said("Enough.")),
                         ["user: Count.", f"model: {PART}", "user: Enough.", "model: Bye."]),
    "retry": Row(["Hi.", "Hello."], many(said("Hello?"), lambda front: front.retry()),
                 ["user: Hello?", "model: Hello."]),
    "edit": Row(["Hi.", "Fine.", "Bad."], many(said("Hello?"), said("How?"), lambda front: front.edit(2, "Why?")),
                ["user: Hello?", "model: Hi.", "user: Why?", "model: Bad."]),
    "undo": Row(["Hi.", "Fine.", "Bad."], many(said("Hello?"), said("How?"), lambda front: front.undo(), said("Why?")),
                ["user: Hello?", "model: Hi.", "user: Why?", "model: Bad."]),
    "fork": Row(["Hi.", "Fine."], many(said("Hello?"), lambda front: front.fork(), said("How?")),
                ["user: Hello?", "model: Hi.", "user: How?", "model: Fine."]),
    "compact": Row([LONG, "Fine.", "They greeted."],
                   many(said("Hello?"), said("How?"), lambda front: front.compact()),
                   ["user: Hello? [1 earlier turns were left out here. Summary: They greeted.] How?", "model: Fine."]),
    "switch model": Row(["Hi.", "Fine."], many(said("Hello?"), lambda front: front.use_model(CLAUDE), said("How?")),
                        ["user: Hello?", "model: Hi.", "user: How?", "model: Fine."]),
}  # fmt: skip


@pytest.mark.parametrize("name", FRONTS)
@pytest.mark.parametrize("row", ROWS)
def test_what_is_done_is_the_same_in_every_front(
    open_front: Callable[[str], Any], fake: Fake, name: str, row: str
) -> None:
    front, case = open_front(name), ROWS[row]
    fake.play(*case.answers)
    case.act(front)
    assert front.transcript() == case.saved
    assert len(fake.requests) == len(case.answers)
    assert not any(each.rejected for each in fake.requests)
