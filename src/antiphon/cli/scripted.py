"""Models and humans that say what a test tells them to, on the fakes, which reject what real providers reject."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import AntiphonError
from antiphon.fakes import Answer, Call, Fail, Fake, Received, Step
from antiphon.fakes.exchange import SPEAKERS
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.values import json_text
from antiphon.session.returns import ANSWER_TOOL

if TYPE_CHECKING:
    from antiphon.effects import Said
    from antiphon.session import Asks, Question

# The model that is asked where a program names none.
_DEFAULT_MODEL = "openai-chat/scripted"
_ROOTS = {"openai-chat": "/v1", "openai-responses": "/v1"}
_SHOWN = 400


class Scripted:
    """What is left to be said in one test. `missing` tells what was asked when nothing was left."""

    def __init__(self, recording: Path | None = None) -> None:
        self.missing: list[str] = []
        self._models: list[Any] = []
        self._humans: list[str] = []
        self._was_told = False
        self._lock = threading.Lock()
        self._recording = recording
        self._fake = Fake(self._answer)
        self._replayer: Any = None

    def play(self, steps: list[Any]) -> None:
        """Add what models and humans will say."""
        if not isinstance(steps, list):
            raise VibeError("V0929", "`answers` takes an array", 'write `answers(["…"])`, with one for each question')
        self._was_told = True
        for step in steps:
            match step:
                case {"human": str(said), **rest} if not rest:
                    self._humans.append(said)
                case {"error": str(), **rest} if not rest.keys() - {"status"}:
                    _failure(step)
                    self._models.append(step)
                case _:
                    self._models.append(step)

    def unused(self) -> list[str]:
        """What was scripted, and nobody has asked for."""
        left = [*self._models, *({"human": said} for said in self._humans)]
        told = ", ".join(json_text(each)[:_SHOWN] for each in left)
        return [f"nobody asked for what is left of `answers([…])`: {told}"] if left else []

    @property
    def _is_replayed(self) -> bool:
        return self._recording is not None and not self._was_told

    # People

    def answer(self, question: Question) -> Said:
        """What the human says: to a question, or to a call that waits to be allowed."""
        from antiphon.effects import Said

        said = self._human(question.text)
        if question.kind == "question":
            return Said(said)
        allowed = said.strip().lower() in ("y", "yes", "ok", "true")
        return Said("" if allowed else f"the user said: {said}", allowed=allowed)

    def _human(self, question: str) -> str:
        with self._lock:
            if self._humans:
                return self._humans.pop(0)
            self.missing.append(f"nobody answers {question[:_SHOWN]!r}: add {{human: …}} to `answers([…])`")
        raise VibeError("V0923", self.missing[-1])

    # Models

    def default_model(self) -> str:
        """The model of a program that names none: with a recording, the one that was configured then and is now."""
        if not self._is_replayed:
            return _DEFAULT_MODEL
        from antiphon.cli.configured import configuration
        from antiphon.config import default_model

        return default_model(configuration()).model

    def connect(self, name: str, **given: Any) -> Asks:
        """A model that answers from the recording or the script; nothing goes over a network."""
        from antiphon.providers import connect

        if self._is_replayed:
            from antiphon.providers.recording import Replayer

            self._replayer = self._replayer or Replayer(self._recording or "")
            settings: dict[str, Any] = {**given, "key": "replay", "transport": self._replayer}
            return connect(name, **settings)
        import httpx2

        from antiphon.providers.retry import NO_RETRY

        provider, own, api = _place(name, given)
        transport = httpx2.ASGITransport(app=self._fake.app)  # type: ignore[arg-type]
        url = f"http://fake{_ROOTS.get(api, '')}"
        return connect(own, provider=provider, url=url, key="fake", retry=NO_RETRY, transport=transport)

    def _answer(self, received: Received) -> Step:
        with self._lock:
            if self._models:
                return spoken(self._models.pop(0), offered(received.body))
            asked = SPEAKERS[received.api].last_text(received.body)[-_SHOWN:]
            self.missing.append(f"no answer is left for {asked!r}: add one to `answers([…])`")
        return Fail(400, self.missing[-1])


def _place(name: str, given: dict[str, Any]) -> tuple[str, str, str]:
    """The provider, the model's own name there, and the API; a model nobody knows is one of OpenAI's shape."""
    from antiphon.providers.registry import LOCAL, PROVIDERS, resolve

    try:
        place, own = resolve(name, given.get("provider"), given.get("url"))
    except AntiphonError:
        return "openai-chat", name, "openai-chat"
    if place.name == LOCAL or PROVIDERS.get(place.name) is not place:
        return "openai-chat", own, "openai-chat"
    return place.name, own, place.api


def offered(body: Any) -> list[str]:
    """The names of the tools in a request of any API."""
    tools: list[dict[str, Any]] = body.get("tools") or []
    declared = [each for tool in tools for each in tool.get("functionDeclarations", [tool.get("function", tool)])]
    return [each["name"] for each in declared if "name" in each]


def spoken(step: Any, tools: list[str]) -> Step:
    """An answer of a test as the model of a fake gives it, with the tools that the request offers."""
    match step:
        case str():
            return step
        case {"error": str(), **rest} if not rest.keys() - {"status"}:
            return _failure(step)
        case {"returns": value, **rest} if not rest:
            return _returned(value, tools)
        case [*calls] if calls and all(map(_is_call, calls)):
            return Answer(calls=[_call(each) for each in calls])
        case _ if _is_call(step):
            return Answer(calls=[_call(step)])
        case _:
            return _returned(step, tools)


def _is_call(step: Any) -> bool:
    match step:
        case {"tool": str(), **rest}:
            return not rest.keys() - {"args"}
        case _:
            return False


def _call(step: Any) -> Call:
    arguments: Any = step.get("args") or {}
    if not isinstance(arguments, dict):
        raise VibeError("V0929", f"the `args` of a scripted call to `{step['tool']}` are an object")
    return Call(step["tool"], cast(dict[str, Any], arguments))


def _failure(step: Any) -> Fail:
    status = step.get("status", 500)
    if not isinstance(status, int) or not 400 <= status <= 599:
        raise VibeError("V0929", f"the `status` of a scripted error is a number from 400 to 599, not {status!r}")
    return Fail(status, step["error"])


def _returned(value: Any, tools: list[str]) -> Step:
    """Return a value as the model gives it: by the return tool where one is declared, else as JSON text."""
    if ANSWER_TOOL not in tools:
        return Answer(json.dumps(value, ensure_ascii=False))
    return Call(ANSWER_TOOL, cast(dict[str, Any], value) if isinstance(value, dict) else {"value": value})
