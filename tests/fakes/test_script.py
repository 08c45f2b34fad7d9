"""Scripts: what they are made of, how they are used up, and how they are read from files."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon import Conversation
from antiphon.errors import FormatError, NotReadyError, OptionError, RequestRejected
from antiphon.fakes import Answer, Call, Cite, Fail, Fake, Received, ServerCall, call, echo, load_script, pytest_plugin

antiphon_fake = pytest_plugin.antiphon_fake
MODELS = ["anthropic/claude-sonnet-5", "openai-chat/gpt-4o", "openai/gpt-5", "google/gemini-3-pro"]


def say(http: httpx2.Client, said: str = "Hi", **fields: Any) -> Any:
    messages = [{"role": "user", "content": said}]
    return http.post("/v1/chat/completions", json={"model": "gpt-5.4", "messages": messages} | fields)


def asking(said: str) -> Conversation:
    conversation = Conversation()
    conversation.add_user(said)
    return conversation


def answer(response: httpx2.Response) -> Any:
    return response.json()["choices"][0]["message"]


def test_every_kind_of_step(http: httpx2.Client, fake: Fake) -> None:
    def polite(request: Received) -> Call:
        return call("greet", name=request.body["messages"][0]["content"])

    fake.play("Text.", call("now"), Fail(500), polite)
    assert answer(say(http))["content"] == "Text."
    assert answer(say(http))["tool_calls"][0]["function"] == {"name": "now", "arguments": "{}"}
    assert say(http).status_code == 500
    assert answer(say(http, "Ada"))["tool_calls"][0]["function"]["arguments"] == '{"name":"Ada"}'


def test_ids_can_be_given(http: httpx2.Client, fake: Fake) -> None:
    fake.play(Call("now", {}, "call_mine"))
    assert answer(say(http))["tool_calls"][0]["id"] == "call_mine"


def test_a_rejected_request_uses_no_step(http: httpx2.Client, fake: Fake) -> None:
    fake.play("Text.")
    assert say(http, messages=[]).status_code == 400
    assert answer(say(http))["content"] == "Text."
    assert [bool(request.rejected) for request in fake.requests] == [True, False]


def test_a_function_that_raises_is_told_to_the_client(http: httpx2.Client, fake: Fake) -> None:
    fake.play(lambda request: request.body["nope"], lambda _: 5)
    assert "KeyError: 'nope'" in say(http).json()["error"]["message"]
    assert "OptionError" in say(http).json()["error"]["message"]
    fake.play(lambda request: request.body["nope"], "Hidden.")
    with pytest.raises(RequestRejected, match="KeyError: 'nope'"):
        fake.connect("openai/gpt-5").chat(asking("Hi"))
    assert fake.connect("openai/gpt-5").chat(asking("Hi")).text == "Hidden."


@pytest.mark.parametrize("model", MODELS)
def test_a_script_that_is_used_up_fails_and_tells_what_was_asked(model: str) -> None:
    with Fake(["One.", "Two."], strict=False) as fake:
        there = fake.connect(model)
        assert [there.chat(asking("Hi")).text for _ in range(2)] == ["One.", "Two."]
        with pytest.raises(RequestRejected) as caught:
            there.chat(asking("And the third?"))
        said = str(caught.value)
        assert "2 answers, all used up" in said
        assert "'And the third?'" in said
        assert "fake.play(...)" in said
        with pytest.raises(RequestRejected, match="2 answers, all used up"), there.stream(asking("Again?")) as stream:
            list(stream)
        assert len(fake.requests) == 4, "it is not asked again"
        fake.play("Three.")
        assert there.chat(asking("Hi")).text == "Three."
        with pytest.raises(RequestRejected, match="3 answers"):
            there.chat(asking("Hi"))
        fake.reset()
        with pytest.raises(RequestRejected, match="no answer"):
            there.chat(asking("Hi"))


@pytest.mark.parametrize("model", MODELS)
def test_a_function_answers_every_request(model: str) -> None:
    def shout(received: Received) -> str:
        return f"ANSWER {len(fake.requests)} OF {received.model}"

    with Fake(shout) as fake:
        there = fake.connect(model)
        name = model.partition("/")[2]
        assert [there.chat(asking("Hi")).text for _ in range(3)] == [f"ANSWER {n} OF {name}" for n in (1, 2, 3)]
        with pytest.raises(OptionError, match="answers every request"):
            fake.play("Never.")
    with Fake({"Ada": echo, "": ["Once."]}) as fake:
        there = fake.connect(model)
        said = [there.chat(asking(each)).text for each in ("I am Ada", "I am Bob", "Ada again")]
        assert said == ["You said: I am Ada", "Once.", "You said: Ada again"]


def test_steps_are_handed_out_once(http: httpx2.Client, fake: Fake) -> None:
    fake.play(*map(str, range(60)))
    with ThreadPoolExecutor(12) as pool:
        said = list(pool.map(lambda _: answer(say(http))["content"], range(60)))
    assert sorted(said, key=int) == [str(number) for number in range(60)]


def test_scripts_may_be_endless_or_a_single_step() -> None:
    def numbers() -> Any:
        number = 0
        while True:
            yield f"Number {number}."
            number += 1

    async def talk(fake: Fake) -> list[str]:
        transport = httpx2.ASGITransport(fake.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://fake") as client:
            body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": "Hi"}]}
            headers = {"authorization": "Bearer key"}
            answers = [await client.post("/v1/chat/completions", json=body, headers=headers) for _ in range(2)]
        return [answer(response)["content"] for response in answers]

    assert asyncio.run(talk(Fake(numbers()))) == ["Number 0.", "Number 1."]
    assert asyncio.run(talk(Fake(["One.", "Two."]))) == ["One.", "Two."]


def test_each_of_several_who_ask_gets_its_own_steps(http: httpx2.Client) -> None:
    parts = {"You are Ada": ["Ada 1", "Ada 2"], "weather": call("weather"), "": ["Anybody"]}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]

    def asked(name: str, **fields: Any) -> Any:
        system = {"role": "system", "content": f"You are {name}."}
        return answer(say(client, messages=[system, {"role": "user", "content": "Hi"}], **fields))

    with Fake(parts, strict=False) as fake, httpx2.Client(base_url=fake.url, headers=http.headers) as client:
        assert asked("Bob")["content"] == "Anybody"
        assert asked("Ada", tools=tools)["content"] == "Ada 1"
        assert asked("Bob", tools=tools)["tool_calls"][0]["function"]["name"] == "weather"
        assert asked("Ada")["content"] == "Ada 2"
        with pytest.raises(KeyError):
            asked("Ada")
        fake.play("Added")
        assert asked("Bob")["content"] == "Added"


@pytest.mark.parametrize("api", ["anthropic", "openai-chat", "openai", "google"])
def test_who_asks_is_known_on_every_api(api: str) -> None:
    names = {"anthropic": "claude-sonnet-5", "openai-chat": "gpt-4o", "openai": "gpt-5", "google": "gemini-3-pro"}
    with Fake({"You are Ada": ["As Ada."], "You are Bob": ["As Bob."]}) as fake:
        for name in ("Bob", "Ada"):
            conversation = Conversation(f"You are {name}.")
            conversation.add_user("Who are you?")
            assert fake.connect(f"{api}/{names[api]}").chat(conversation).text == f"As {name}."


@pytest.mark.parametrize(
    "make",
    [
        lambda: Fake([5]),  # pyright: ignore
        lambda: Fake().play(None),  # pyright: ignore
        lambda: Answer(calls=["now"]),  # pyright: ignore
        lambda: Answer(stop="never"),  # pyright: ignore
        lambda: Fail(200),
        lambda: Fake().base_url("acme"),
    ],
)
def test_what_is_no_step_is_said_at_once(make: Any) -> None:
    with pytest.raises((OptionError, NotReadyError)):
        make()


def test_addresses(served: Fake) -> None:
    assert served.base_url("anthropic") == served.base_url("gemini") == served.url
    assert served.base_url("openai") == served.base_url("openai-responses") == served.url + "/v1"
    with pytest.raises(NotReadyError):
        _ = Fake().url


def test_a_fake_stops_serving() -> None:
    with Fake() as fake:
        url = fake.url
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url)
    with fake:
        assert httpx2.get(fake.url + "/v1/models", headers={"authorization": "Bearer any"}).status_code == 200


def test_the_fixture(antiphon_fake: Fake) -> None:
    antiphon_fake.play("From the fixture.")
    with httpx2.Client(base_url=antiphon_fake.url, headers={"authorization": "Bearer key"}) as client:
        assert answer(say(client))["content"] == "From the fixture."
    assert len(antiphon_fake.requests) == 1


def test_importing_the_room_loads_no_server() -> None:
    code = (
        "import sys, antiphon, pytest; before = set(sys.modules); import antiphon.fakes.pytest_plugin; "
        "print({'starlette', 'uvicorn', 'httpx2', 'asyncio', 'antiphon.wire'} & set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_script_files(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    steps = [
        "Text.",
        {"text": "Both.", "calls": [{"name": "weather", "arguments": {"city": "Oslo"}}], "usage": [3, 4]},
        {"fail": 429, "retry_after": 2},
        {"reasoning": "Hm.", "text": "Yes.", "cut_after": 3, "delay": 0.5},
        {
            "text": "Rain.",
            "stop_word": "pause_turn",
            "server_calls": [
                {"tool": "web_search", "input": {"query": "x"}, "sources": [{"url": "https://example.org"}]}
            ],
            "citations": [{"url": "https://example.org", "title": "Rain"}],
            "blocks": [{"type": "fallback"}],
        },
    ]
    wanted = [
        "Text.",
        Answer("Both.", [call("weather", city="Oslo")], usage=(3, 4)),
        Fail(429, retry_after=2),
        Answer("Yes.", reasoning="Hm.", cut_after=3, delay=0.5),
        Answer(
            "Rain.",
            stop_word="pause_turn",
            server_calls=[ServerCall("web_search", {"query": "x"}, sources=[Cite("https://example.org")])],
            citations=[Cite("https://example.org", "Rain")],
            blocks=[{"type": "fallback"}],
        ),
    ]
    path.write_text(json.dumps(steps))
    assert load_script(path) == wanted
    path.write_text(json.dumps({"You are @pm": steps, "": []}))
    assert load_script(path) == {"You are @pm": wanted, "": []}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("5", "is a list of steps, not a number"),
        ('{"text": "Hi"}', "`text` in .* is a list of steps, not a text"),
        ('{"You are Ada": [{"txt": "b"}]}', "step 1 of `You are Ada` in .* has an unknown field 'txt'"),
        ("[5]", "step 1 of .* is a text or an object, not a number"),
        ('["a", {"txt": "b"}]', "step 2 of .* has an unknown field 'txt'; it may have text, calls"),
        ('[{"text": 5}]', "`text` is a text, not a number"),
        ('[{"delay": true}]', "`delay` is a number of seconds, not true or false"),
        ('[{"calls": [{"arguments": {}}]}]', "call 1 of step 1 of .* has no `name`"),
        ('[{"calls": ["now"]}]', "call 1 of step 1 of .* is an object, not a text"),
        ('[{"calls": [{"name": "now", "arguments": "{}"}]}]', "`arguments` is an object, not a text"),
        ('[{"usage": [1]}]', "`usage` is two numbers"),
        ('[{"fail": 200}]', "step 1 of .*a status from 400 to 599"),
        ('[{"fail": 500, "text": "x"}]', "unknown field 'text'"),
        ('[{"stop": "never"}]', "stops with one of"),
        ('[{"stop_word": "two words"}]', "one word of letters"),
        ('[{"server_calls": [{"input": {}}]}]', "server call 1 of step 1 of .* has no `tool`"),
        ('[{"citations": [{"title": "x"}]}]', "a source has no `url`"),
        ('[{"blocks": ["x"]}]', "block 1 of step 1 of .* is an object, not a text"),
    ],
)
def test_what_is_wrong_with_a_script_file_is_said(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=words):
        load_script(path)


def test_a_script_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none\.json"):
        load_script(tmp_path / "none.json")
