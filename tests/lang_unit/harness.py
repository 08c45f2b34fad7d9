"""Runs programs against a fake inside the process: no socket, no waiting."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon.effects import Said
from antiphon.fakes import Answer, Call, Fail, Fake, Received, Step
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.program import Host, Program, Report, load, loads
from antiphon.providers import NO_RETRY, Model, connect, resolve
from antiphon.session import Question

#: A model of each API.
MODELS = {
    "anthropic": "anthropic/claude-sonnet-5",
    "openai-chat": "openai-chat/gpt-4o",
    "openai-responses": "openai/gpt-5",
    "gemini": "google/gemini-3-pro",
}
every_api = pytest.mark.parametrize("api", MODELS)
_PATHS = {"anthropic": "", "gemini": ""}


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

    def human(question: Question) -> Said | None:
        questions.append(question.text)
        if not people:
            return None
        said = people.pop(0)
        return Said(said) if question.kind == "question" else Said(said, allowed=said in ("y", "yes"))

    settings = {"write": lambda _: None, "people": human, "connect": connecting(fake), **host}
    settings.setdefault("default_model", lambda: MODELS[api])
    outcome = loaded.attempt(Host(**settings), inputs=inputs)
    rejected = [each.rejected for each in fake.requests if each.rejected]
    assert not rejected, rejected
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
    """A value, given through whichever return tools the request offers."""
    offered = tool_names(received)
    if "__vibe_return_object" in offered:
        return Call("__vibe_return_object", value)
    if "__vibe_return_value" in offered:
        return Call("__vibe_return_value", {"value": value})
    if any(name.startswith("__vibe_return_") for name in offered):
        return Answer(calls=[Call(f"__vibe_return_{name}", {"value": each}) for name, each in value.items()])
    return json.dumps(value)


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
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in ("role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "status"):
                yield from _texts(each)
