"""Models and humans that play the script of a test, on fake servers as strict as real providers."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import AntiphonError
from antiphon.fakes import Answer, Call, Fail, Fake, Received, Step
from antiphon.fakes.apis import FAKE_APIS
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.values import to_json_text
from antiphon.session.typed_output import ANSWER_TOOL
from antiphon.wire import APIS
from antiphon.wire.apis import PLAIN_API

if TYPE_CHECKING:
    from antiphon.effects import HumanAnswer
    from antiphon.session import ModelProtocol, Question

# The model of a program that names none.
_DEFAULT_PROVIDER = APIS[PLAIN_API].provider
_DEFAULT_MODEL = f"{_DEFAULT_PROVIDER}/scripted"
_MAX_EXCERPT = 400


class ScriptedTestModels:
    """The remaining script of one test. `missing` describes requests for which nothing was left."""

    def __init__(self, recording: Path | None = None) -> None:
        self.missing: list[str] = []
        self._models: list[Any] = []
        self._human_answers: list[str] = []
        self._has_script = False
        self._lock = threading.Lock()
        self._recording = recording
        self._fake = Fake(self._answer)
        self._replayer: Any = None

    def play(self, steps: list[Any]) -> None:
        """Add answers of models and humans to the script."""
        if not isinstance(steps, list):
            raise VibeError(
                "V0929", "`answers` takes an array", 'write `answers(["…"])`, with one answer for each question'
            )
        self._has_script = True
        for step in steps:
            match step:
                case {"human": str(said), **rest} if not rest:
                    self._human_answers.append(said)
                case {"error": str(), **rest} if not rest.keys() - {"status"}:
                    _make_failure(step)
                    self._models.append(step)
                case _:
                    self._models.append(step)

    def unused(self) -> list[str]:
        """Return a message about scripted answers that nobody requested."""
        left = [*self._models, *({"human": said} for said in self._human_answers)]
        told = ", ".join(to_json_text(each)[:_MAX_EXCERPT] for each in left)
        return [f"unused answers in `answers([…])`: {told}"] if left else []

    @property
    def _is_replayed(self) -> bool:
        return self._recording is not None and not self._has_script

    # People

    def answer(self, question: Question) -> HumanAnswer:
        """Return the human's scripted answer to a question or to a tool call that needs approval."""
        from antiphon.effects import HumanAnswer

        said = self._human(question.text)
        if question.kind != "approval":
            return HumanAnswer(said)
        allowed = said.strip().lower() in ("y", "yes", "ok", "true")
        return HumanAnswer("" if allowed else f"the user said: {said}", allowed=allowed)

    def _human(self, question: str) -> str:
        with self._lock:
            if self._human_answers:
                return self._human_answers.pop(0)
            self.missing.append(f"no human answer for {question[:_MAX_EXCERPT]!r}: add {{human: …}} to `answers([…])`")
        raise VibeError("V0923", self.missing[-1])

    # Models

    def default_model(self) -> str:
        """Return the model of a program that names none: with a recording, the configured one."""
        if not self._is_replayed:
            return _DEFAULT_MODEL
        from antiphon.cli.configuration import current_configuration
        from antiphon.config import default_model

        return default_model(current_configuration()).model

    def connect(self, name: str, **given: Any) -> ModelProtocol:
        """Return a model that answers from the recording or the script, without a network."""
        from antiphon.providers import connect

        if self._is_replayed:
            from antiphon.providers.recording import ReplayTransport

            self._replayer = self._replayer or ReplayTransport(self._recording or "")
            settings: dict[str, Any] = {**given, "key": "replay", "transport": self._replayer}
            return connect(name, **settings)
        import httpx2

        from antiphon.providers.retry import NO_RETRY

        provider, own, api = _find_provider(name, given)
        transport = httpx2.ASGITransport(app=self._fake.app)  # type: ignore[arg-type]
        url = f"http://fake{APIS[api].http.base_path}"
        return connect(own, provider=provider, url=url, key="fake", retry=NO_RETRY, transport=transport)

    def _answer(self, received: Received) -> Step:
        with self._lock:
            if self._models:
                return make_scripted_step(self._models.pop(0), list_offered_tools(received.body))
            asked = FAKE_APIS[received.api].read_last_text(received.body)[-_MAX_EXCERPT:]
            self.missing.append(f"no answer left for {asked!r}: add one to `answers([…])`")
        return Fail(400, self.missing[-1])


def _find_provider(name: str, given: dict[str, Any]) -> tuple[str, str, str]:
    """Return the provider, the model's name there, and the API; an unknown model uses the OpenAI API."""
    from antiphon.providers.registry import LOCAL_PROVIDER, PROVIDERS, resolve

    try:
        place, own = resolve(name, given.get("provider"), given.get("url"))
    except AntiphonError:
        return _DEFAULT_PROVIDER, name, PLAIN_API
    if place.name == LOCAL_PROVIDER or PROVIDERS.get(place.name) is not place:
        return _DEFAULT_PROVIDER, own, PLAIN_API
    return place.name, own, place.api


def list_offered_tools(body: Any) -> list[str]:
    """Return the names of the tools in a request of any API."""
    tools: list[dict[str, Any]] = body.get("tools") or []
    declared = [each for tool in tools for each in tool.get("functionDeclarations", [tool.get("function", tool)])]
    return [each["name"] for each in declared if "name" in each]


def make_scripted_step(step: Any, tools: list[str]) -> Step:
    """Convert an answer of a test to a step of the fake server, with the tools that the request offers."""
    match step:
        case str():
            return step
        case {"error": str(), **rest} if not rest.keys() - {"status"}:
            return _make_failure(step)
        case {"returns": value, **rest} if not rest:
            return _make_return(value, tools)
        case [*calls] if calls and all(map(_is_call, calls)):
            return Answer(calls=[_make_call(each) for each in calls])
        case _ if _is_call(step):
            return Answer(calls=[_make_call(step)])
        case _:
            return _make_return(step, tools)


def _is_call(step: Any) -> bool:
    match step:
        case {"tool": str(), **rest}:
            return not rest.keys() - {"args"}
        case _:
            return False


def _make_call(step: Any) -> Call:
    arguments: Any = step.get("args") or {}
    if not isinstance(arguments, dict):
        raise VibeError("V0929", f"the `args` of a scripted call to `{step['tool']}` are an object")
    return Call(step["tool"], cast(dict[str, Any], arguments))


def _make_failure(step: Any) -> Fail:
    status = step.get("status", 500)
    if not isinstance(status, int) or not 400 <= status <= 599:
        raise VibeError("V0929", f"the `status` of a scripted error is a number from 400 to 599, not {status!r}")
    return Fail(status, step["error"])


def _make_return(value: Any, tools: list[str]) -> Step:
    """Return a value as the model gives it: by the answer tool if it is offered, else as JSON text."""
    if ANSWER_TOOL not in tools:
        return Answer(json.dumps(value, ensure_ascii=False))
    return Call(ANSWER_TOOL, cast(dict[str, Any], value) if isinstance(value, dict) else {"value": value})
