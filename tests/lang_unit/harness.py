"""Runs programs against a fake inside the process: no socket, no waiting."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon.effects import HumanAnswer
from antiphon.fakes import Answer, Call, Fail, Fake, Received, Step
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.program import Host, Program, Report, load, loads
from antiphon.providers import NO_RETRY, Model, connect, resolve
from antiphon.session import Question
from tests.prefix import prefix

#: A model of each API.
MODELS = {
    "anthropic": "anthropic/claude-sonnet-5",
    "openai-chat": "openai-chat/gpt-4o",
    "openai-responses": "openai/gpt-5",
    "gemini": "google/gemini-3-pro",
}
every_api = pytest.mark.parametrize("api", MODELS)
_PATHS = {"anthropic": "", "gemini": ""}
#: Fields of messages that are nothing said.
_UNSAID = ("role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "status", "signature", "thoughtSignature")


@dataclass
class Ran:
    """How a program went, and what its models and its human were sent."""

    outcome: Report
    fake: Fake
    questions: list[str] = field(default_factory=list)

    @property
    def prints(self) -> list[str]:
        return self.outcome.prints

    @property
    def variables(self) -> dict[str, Any]:
        return self.outcome.variables

    @property
    def error(self) -> VibeError:
        assert self.outcome.error is not None
        return self.outcome.error

    @property
    def prompts(self) -> list[str]:
        """Everything that each request says, as one text."""
        return [said(each) for each in self.fake.requests]


def ran(
    program: str | Path | Program,
    *answers: Any,
    api: str = "anthropic",
    name: str = "program.vibe",
    inputs: dict[str, Any] | None = None,
    **host: Any,
) -> Ran:
    """Run a program, or its text, with these answers (see `step`). An error of the program is part of what is given."""
    if isinstance(program, str):
        program = loads(program, name)
    loaded = load(program) if isinstance(program, Path) else program
    given = list(answers)
    people = [each["human"] for each in given if _is_human(each)]
    fake = Fake([*(step(each) for each in given if not _is_human(each)), _over])
    questions: list[str] = []

    def human(question: Question) -> HumanAnswer | None:
        questions.append(question.text)
        if not people:
            return None
        said = people.pop(0)
        return HumanAnswer(said) if question.kind == "question" else HumanAnswer(said, allowed=said in ("y", "yes"))

    watch = prefix.Watch()
    settings = {"write": lambda _: None, "people": human, "connect": watch.connecting(connecting(fake)), **host}
    settings.setdefault("default_model", lambda: MODELS[api])
    outcome = loaded.attempt(Host(**settings), inputs=inputs)
    rejected = [each.rejected for each in fake.requests if each.rejected]
    assert not rejected, rejected
    # Whatever a program does, what a model was sent stays as it was.
    assert not watch.rewritten(), watch.rewritten()
    return Ran(outcome, fake, questions)


def connecting(fake: Fake) -> Callable[..., Model]:
    """`antiphon.connect`, for models that are this fake."""
    transport = httpx2.ASGITransport(app=fake.app)

    def connected(name: str, **given: Any) -> Model:
        place, _ = resolve(name, given.get("provider"), given.get("url"))
        url = f"http://fake{_PATHS.get(place.api, '/v1')}"
        return connect(name, provider=place.name, url=url, key="fake", retry=NO_RETRY, transport=transport)

    return connected


def step(answer: Any) -> Step:
    """What a model says: a text, `{tool, args}`, an array of such, `{error, status}`, or what it returns, typed."""
    if isinstance(answer, str | Answer | Call | Fail) or callable(answer):
        return answer
    if isinstance(answer, dict) and "tool" in answer:
        return Call(answer["tool"], answer.get("args", {}))
    if isinstance(answer, list) and answer and all(isinstance(each, dict) and "tool" in each for each in answer):
        return Answer(calls=[Call(each["tool"], each.get("args", {})) for each in answer])
    if isinstance(answer, dict) and "error" in answer:
        return Fail(answer.get("status", 500), answer["error"])
    value = answer["returns"] if isinstance(answer, dict) and "returns" in answer else answer
    return lambda received: _returned(value, received)


def _returned(value: Any, received: Received) -> Step:
    """Return a value as the model gives it: by the return tool where one is declared, else as JSON text."""
    if "answer" not in tool_names(received):
        return json.dumps(value)
    return Call("answer", value if isinstance(value, dict) else {"value": value})


def _over(received: Received) -> Step:
    raise AssertionError(f"there are no answers left for {said(received)[-500:]!r}")


def _is_human(answer: Any) -> bool:
    return isinstance(answer, dict) and "human" in answer


def tool_names(received: Received) -> list[str]:
    """The names of the tools that a request offers."""
    return [name for each in received.body.get("tools", ()) for name in _names(each)]


def _names(tool: dict[str, Any]) -> Iterable[str]:
    for each in tool.get("functionDeclarations", ()):
        yield each["name"]
    named = tool.get("function", tool)
    if "name" in named:
        yield named["name"]


def messages(received: Received) -> Sequence[Any]:
    """The conversation of a request, in the words of its API."""
    body = received.body
    return next(body[key] for key in ("messages", "input", "contents") if key in body)


def said(received: Received) -> str:
    """All texts of a request's conversation, each on lines of its own; of calls, their JSON."""
    return "\n".join(text for message in messages(received) for text in _texts(message))


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict) and value.get("type") not in ("thinking", "redacted_thinking", "reasoning"):
        for key, each in value.items():
            if key not in _UNSAID:
                yield from _texts(each)
