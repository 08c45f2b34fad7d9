"""What answers can be scripted beyond words and calls: how they stop, server tools, sources, hops, forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from antiphon.errors import OptionError
from antiphon.fakes import Answer, Cite, Fake, ServerCall, call, echo
from tests.fakes.conftest import HEADERS
from tests.lazily import Lazily

anthropic = Lazily("anthropic")
openai = Lazily("openai")

USER = {"role": "user", "content": "Hi"}
PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-4-argon:generateContent",
}
BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [USER]},
    "openai-chat": {"model": "gpt-5.4", "messages": [USER]},
    "openai-responses": {"model": "gpt-5.4", "input": [USER]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}


@pytest.fixture
def new() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def echoing() -> Iterator[Fake]:
    with Fake(echo) as fake:
        yield fake


def post(fake: Fake, api: str, **more: Any) -> httpx2.Response:
    return httpx2.post(fake.url + PATHS[api], json=BODIES[api] | more, headers=HEADERS)


def ask(fake: Fake, api: str, **more: Any) -> Any:
    response = post(fake, api, **more)
    assert response.status_code == 200, response.text
    return response.json()


def stop_of(api: str, body: Any) -> Any:
    match api:
        case "anthropic":
            return body["stop_reason"]
        case "openai-chat":
            return body["choices"][0]["finish_reason"]
        case "openai-responses":
            return body["status"], (body["incomplete_details"] or {}).get("reason")
        case _:
            return body["candidates"][0]["finishReason"]


@pytest.mark.parametrize(
    ("api", "word", "stop"),
    [
        ("anthropic", "pause_turn", "pause_turn"),
        ("anthropic", "model_context_window_exceeded", "model_context_window_exceeded"),
        ("anthropic", "never_heard_of", "never_heard_of"),
        ("openai-chat", "function_call", "function_call"),
        ("openai-chat", "never_heard_of", "never_heard_of"),
        ("openai-responses", "max_messages", ("incomplete", "max_messages")),
        ("openai-responses", "steered", ("incomplete", "steered")),
        ("openai-responses", "cancelled", ("cancelled", None)),
        ("openai-responses", "failed", ("failed", None)),
        ("gemini", "TOO_MANY_TOOL_CALLS", "TOO_MANY_TOOL_CALLS"),
        ("gemini", "MALFORMED_RESPONSE", "MALFORMED_RESPONSE"),
        ("gemini", "NEVER_HEARD_OF", "NEVER_HEARD_OF"),
    ],
)
def test_every_stop_word_can_be_said(new: Fake, api: str, word: str, stop: Any) -> None:
    new.play(*[Answer("So far.", stop_word=word)] * (2 if api != "gemini" else 1))
    body = ask(new, api)
    assert stop_of(api, body) == stop
    assert ("So far." in json.dumps(body)) == (word != "failed" or "So far." in body["error"]["message"])
    if api != "gemini":
        assert f'"{stop if isinstance(stop, str) else stop[1] or stop[0]}"' in post(new, api, stream=True).text


def test_stop_words_are_words() -> None:
    for make in (lambda: Answer(stop_word="two words"), lambda: Answer(hops=0), lambda: Fake(account="any")):  # pyright: ignore
        with pytest.raises(OptionError):
            make()


def test_refusals_in_words_and_with_details(new: Fake) -> None:
    new.play(*[Answer(refusal="I will not.", stop_details={"category": "cyber"})] * 4)
    message = ask(new, "anthropic")
    assert message["stop_reason"] == "refusal"
    assert message["stop_details"] == {"type": "refusal", "category": "cyber", "explanation": "I will not."}
    choice = ask(new, "openai-chat")["choices"][0]
    assert (choice["finish_reason"], choice["message"]["refusal"]) == ("stop", "I will not.")
    response = ask(new, "openai-responses")
    assert response["status"] == "completed"
    assert response["output"][0]["content"] == [{"type": "refusal", "refusal": "I will not."}]
    assert ask(new, "gemini")["candidates"][0]["finishMessage"] == "I will not."


SEARCH = ServerCall("web_search", {"query": "rain"}, sources=[Cite("https://example.org", "Rain")])
CITED = Answer("It rains.", server_calls=[SEARCH], citations=[Cite("https://example.org", "Rain", "rains")])


def test_server_tools_and_sources(new: Fake) -> None:
    new.play(*[CITED] * 4)
    use, result, text = ask(new, "anthropic")["content"]
    assert (use["type"], use["input"], use["id"][:9]) == ("server_tool_use", {"query": "rain"}, "srvtoolu_")
    assert (result["type"], result["tool_use_id"]) == ("web_search_tool_result", use["id"])
    assert [found["url"] for found in result["content"]] == ["https://example.org"]
    assert (text["citations"][0]["url"], text["citations"][0]["cited_text"]) == ("https://example.org", "rains")
    note = ask(new, "openai-chat")["choices"][0]["message"]["annotations"][0]["url_citation"]
    assert (note["start_index"], note["end_index"]) == (3, 8)
    search, said = ask(new, "openai-responses")["output"]
    assert (search["type"], search["action"]["query"]) == ("web_search_call", "rain")
    assert said["content"][0]["annotations"][0]["url"] == "https://example.org"
    candidate = ask(new, "gemini")["candidates"][0]
    assert [next(iter(part)) for part in candidate["content"]["parts"]] == ["toolCall", "toolResponse", "text"]
    assert candidate["groundingMetadata"]["groundingChunks"] == [
        {"web": {"uri": "https://example.org", "title": "Rain"}}
    ]
    assert candidate["groundingMetadata"]["groundingSupports"][0]["segment"]["text"] == "rains"


def test_the_sdk_of_anthropic_streams_what_it_gets_whole(new: Fake) -> None:
    new.play(CITED, CITED)
    client = anthropic.Anthropic(base_url=new.base_url("anthropic"), api_key="key", max_retries=0)
    whole = client.messages.create(**BODIES["anthropic"])
    with client.messages.stream(**BODIES["anthropic"]) as stream:
        streamed = stream.get_final_message()
    assert [block.type for block in streamed.content] == [block.type for block in whole.content]
    assert streamed.content[0].input == {"query": "rain"}
    assert streamed.content[2].citations[0].url == "https://example.org"


def test_the_sdk_of_openai_streams_what_it_gets_whole(new: Fake) -> None:
    client = openai.OpenAI(base_url=new.base_url("openai"), api_key="key", max_retries=0)
    for answer in (CITED, Answer(refusal="I will not.")):
        new.play(answer, answer)
        whole = client.responses.create(**BODIES["openai-responses"])
        with client.responses.stream(**BODIES["openai-responses"]) as stream:
            streamed = stream.get_final_response()
        assert [item.type for item in streamed.output] == [item.type for item in whole.output]
        bare = [part.model_dump(exclude={"parsed"}) for part in streamed.output[-1].content]
        assert bare == [part.model_dump() for part in whole.output[-1].content]


def test_a_paused_turn_is_sent_back_with_nothing_behind_it(new: Fake) -> None:
    new.play(Answer(server_calls=[ServerCall("web_search", {"query": "rain"})], stop="pause"), "It rains.")
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    paused = ask(new, "anthropic", tools=tools)
    assert paused["stop_reason"] == "pause_turn"
    history = [USER, {"role": "assistant", "content": paused["content"]}]
    refused = post(new, "anthropic", tools=tools, messages=[*history, {"role": "user", "content": "Please go on."}])
    assert "without a corresponding `web_search_tool_result` block" in refused.json()["error"]["message"]
    assert ask(new, "anthropic", tools=tools, messages=history)["content"][-1]["text"] == "It rains."


def test_containers_and_native_blocks(new: Fake) -> None:
    block = {"type": "fallback", "from": "a", "to": "b"}
    new.play(Answer("Done.", blocks=[block], container="container_1"))
    message = ask(new, "anthropic")
    assert message["container"]["id"] == "container_1"
    assert message["content"][0] == block
    assert "code execution" in post(new, "anthropic", container="container_1").text


# Hops


def continued(fake: Fake, **more: Any) -> httpx2.Response:
    return post(fake, "gemini", **more)


LIMIT = {"generationConfig": {"maxOutputTokens": 1000}}


def test_an_answer_over_several_hops(new: Fake) -> None:
    new.play(Answer("It rains in Oslo.", hops=3), "Next.")
    said, token, stops = "", {}, []
    for _ in range(3):
        candidate = continued(new, **LIMIT, **token).json()["candidates"][0]
        said += candidate["content"]["parts"][0]["text"]
        stops.append(candidate["finishReason"])
        token = {"continuationToken": candidate.get("continuationToken")}
    assert (said, stops) == ("It rains in Oslo.", ["CONTINUATION", "CONTINUATION", "STOP"])
    assert token == {"continuationToken": None}
    assert ask(new, "gemini")["candidates"][0]["content"]["parts"][0]["text"] == "Next."


def test_hops_end_without_a_budget_for_all(new: Fake) -> None:
    new.play(Answer("It rains in Oslo.", hops=2))
    candidate = continued(new).json()["candidates"][0]
    assert candidate["finishReason"] == "MAX_TOKENS"
    assert candidate["continuationToken"]


def test_a_token_belongs_to_its_request(new: Fake) -> None:
    new.play(Answer("It rains in Oslo.", hops=2))
    token = {"continuationToken": continued(new, **LIMIT).json()["candidates"][0]["continuationToken"]}
    partial = [
        *BODIES["gemini"]["contents"],
        {"role": "model", "parts": [{"text": "It rains"}]},
        *BODIES["gemini"]["contents"],
    ]
    for change in ({"contents": partial}, {"systemInstruction": {"parts": [{"text": "Go on."}]}}):
        assert "Invalid continuation token" in continued(new, **LIMIT, **token, **change).text
    assert "Invalid continuation token" in continued(new, **LIMIT, continuationToken="bm9uZQ==").text
    assert continued(new, **LIMIT, **token).status_code == 200
    assert "Invalid continuation token" in continued(new, **LIMIT, **token).text


def test_a_cut_answer_is_continued_with_a_higher_limit(new: Fake) -> None:
    new.play(Answer("It rai", stop="length"), "ns in Oslo.")
    candidate = continued(new, **LIMIT).json()["candidates"][0]
    assert candidate["finishReason"] == "MAX_TOKENS"
    token = {"continuationToken": candidate["continuationToken"]}
    assert "must be higher" in continued(new, **LIMIT, **token).text
    more = {"generationConfig": {"maxOutputTokens": 2000}}
    assert "ns in Oslo." in continued(new, **more, **token).text


def test_other_models_know_no_hops(new: Fake) -> None:
    new.play(Answer("It rains.", hops=2))
    url = f"{new.url}/v1beta/models/gemini-3-flash-preview:generateContent"
    candidate = httpx2.post(url, json=BODIES["gemini"] | LIMIT, headers=HEADERS).json()["candidates"][0]
    assert (candidate["finishReason"], "continuationToken" in candidate) == ("STOP", False)


# The background


def test_a_response_in_the_background_is_polled(new: Fake) -> None:
    new.play("It rains.")
    client = openai.OpenAI(base_url=new.base_url("openai"), api_key="key", max_retries=0)
    response = client.responses.create(**BODIES["openai-responses"], background=True)
    states = [response.status]
    while states[-1] != "completed":
        response = client.responses.retrieve(response.id)
        states.append(response.status)
    assert states == ["queued", "in_progress", "completed"]
    assert response.output_text == client.responses.retrieve(response.id).output_text == "It rains."
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_none")
    assert "store" in post(new, "openai-responses", background=True, store=False).text


def test_a_response_in_the_background_is_cancelled(echoing: Fake) -> None:
    client = openai.OpenAI(base_url=echoing.base_url("openai"), api_key="key", max_retries=0)
    response = client.responses.create(**BODIES["openai-responses"], background=True)
    assert client.responses.cancel(response.id).status == "cancelled"
    assert client.responses.retrieve(response.id).status == "cancelled"


# The cache

LONG = "It rains in Oslo. " * 400
MARK = {"cache_control": {"type": "ephemeral"}}


def counts(usage: dict[str, Any]) -> tuple[int, int]:
    return usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]


def test_marked_prompts_are_written_and_read(echoing: Fake) -> None:
    system = [{"type": "text", "text": LONG} | MARK]
    first = ask(echoing, "anthropic", system=system)["usage"]
    second = ask(echoing, "anthropic", system=system)["usage"]
    assert counts(first)[0] == counts(second)[1] == 0
    assert counts(first)[1] == counts(second)[0] == first["cache_creation"]["ephemeral_5m_input_tokens"] > 1024
    assert sum(counts(first)) + first["input_tokens"] == sum(counts(second)) + second["input_tokens"]
    hour = [{"type": "text", "text": LONG + "!", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    usage = ask(echoing, "anthropic", system=hour)["usage"]
    assert usage["cache_creation"]["ephemeral_1h_input_tokens"] == counts(usage)[1] > 0
    assert counts(ask(echoing, "anthropic", system=[{"type": "text", "text": "Short."} | MARK])["usage"]) == (0, 0)
    assert counts(ask(echoing, "anthropic", system=LONG)["usage"]) == (0, 0)
    assert counts(ask(echoing, "anthropic", system=system, model="claude-opus-5")["usage"])[0] == 0


def test_a_moving_mark_reads_what_it_wrote_before(echoing: Fake) -> None:
    messages = [{"role": "user", "content": LONG}]
    written = counts(ask(echoing, "anthropic", messages=messages, **MARK)["usage"])[1]
    messages += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And now?"}]
    read, more = counts(ask(echoing, "anthropic", messages=messages, **MARK)["usage"])
    assert read == written > 0 < more < 100
    apart = [*messages, *[{"role": role, "content": "x"} for _ in range(12) for role in ("assistant", "user")]]
    assert counts(ask(echoing, "anthropic", messages=apart, **MARK)["usage"])[0] == 0
    changed = [{"role": "user", "content": "!" + LONG}, *messages[1:]]
    assert counts(ask(echoing, "anthropic", messages=changed, **MARK)["usage"])[0] == 0


@pytest.mark.parametrize(
    ("api", "more", "where"),
    [
        (
            "openai-chat",
            {"messages": [{"role": "user", "content": LONG}]},
            ("usage", "prompt_tokens_details", "cached_tokens"),
        ),
        ("openai-responses", {"input": LONG}, ("usage", "input_tokens_details", "cached_tokens")),
        (
            "gemini",
            {"contents": [{"role": "user", "parts": [{"text": LONG * 3}]}]},
            ("usageMetadata", "cachedContentTokenCount"),
        ),
    ],
)
def test_other_servers_cache_by_themselves(
    echoing: Fake, api: str, more: dict[str, Any], where: tuple[str, ...]
) -> None:
    def cached(**change: Any) -> int:
        value: Any = ask(echoing, api, **more | change)
        for step in where:
            value = value.get(step, 0)
        return value

    assert cached() == 0
    assert cached() > 1024
    assert cached(**BODIES[api] | {"model": "gpt-5.4"}) == 0
    tools: list[Any] = [{"type": "web_search"}] if api == "openai-responses" else []
    tools = tools or ([{"googleSearch": {}}] if api == "gemini" else [{"type": "custom", "custom": {"name": "sql"}}])
    assert cached(tools=tools) == 0
    assert [cached(**BODIES[api]) for _ in range(2)] == [0, 0], "below the minimum nothing is kept"


def test_anthropic_tells_why_the_cache_was_missed(echoing: Fake) -> None:
    first = ask(echoing, "anthropic", system="Be brief.")["id"]

    def why(**change: Any) -> Any:
        body = {"system": "Be brief.", "diagnostics": {"previous_message_id": first}} | change
        return ask(echoing, "anthropic", **body)["diagnostics"]["cache_miss_reason"]

    more = [USER, {"role": "assistant", "content": "Yes."}, USER]
    assert why() is why(messages=more) is why(diagnostics={"previous_message_id": None}) is None
    tool = {"name": "f", "input_schema": {"type": "object"}}
    for change, reason in (
        ({"system": "Be long."}, "system_changed"),
        ({"tools": [tool]}, "tools_changed"),
        ({"model": "claude-opus-5"}, "model_changed"),
        ({"messages": [{"role": "user", "content": "Bye"}]}, "messages_changed"),
        ({"diagnostics": {"previous_message_id": "msg_none"}}, "previous_message_not_found"),
    ):
        assert why(**change)["type"] == reason
    assert "diagnostics" not in ask(echoing, "anthropic")


def test_openai_tells_why_the_cache_was_missed(echoing: Fake) -> None:
    first = ask(echoing, "openai-responses")["id"]

    def why(compared: str = first, **change: Any) -> Any:
        body = {"prompt_cache_options": {"comparison_response_id": compared}} | change
        return ask(echoing, "openai-responses", **body)["prompt_cache_diagnostics"]

    assert why() == {"type": "cache_hit"}
    for change, reason in (
        ({"text": {"verbosity": "low"}}, "verbosity_changed"),
        ({"reasoning": {"effort": "low"}}, "reasoning_effort_changed"),
        ({"prompt_cache_key": "k"}, "prompt_cache_key_changed"),
        ({"tools": [{"type": "web_search"}]}, "tools_changed"),
        ({"input": "Bye"}, "input_changed"),
        ({"model": "gpt-5.5"}, "model_changed"),
    ):
        assert why(**change)["reason"] == reason
    assert why("resp_none")["type"] == "comparison_response_not_found"


# Forms


def schema(**properties: Any) -> dict[str, Any]:
    closed = {"additionalProperties": False, "required": list(properties)}
    return {"type": "object", "properties": properties} | closed


FORMS = {
    "anthropic": lambda form: {"output_config": {"format": {"type": "json_schema", "schema": form}}},
    "openai-chat": lambda form: {
        "response_format": {"type": "json_schema", "json_schema": {"name": "r", "strict": True, "schema": form}}
    },
    "openai-responses": lambda form: {
        "text": {"format": {"type": "json_schema", "name": "r", "strict": True, "schema": form}}
    },
    "gemini": lambda form: {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": form}},
}


def text_of(api: str, body: Any) -> Any:
    match api:
        case "anthropic":
            said = body["content"][0]["text"]
        case "openai-chat":
            said = body["choices"][0]["message"]["content"]
        case "openai-responses":
            said = body["output"][0]["content"][0]["text"]
        case _:
            said = body["candidates"][0]["content"]["parts"][0]["text"]
    return json.loads(said)


@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize(
    ("said", "form", "wanted"),
    [
        ("4", schema(value={"type": "integer"}), {"value": 4}),
        ("Rain.", schema(value={"type": "string"}), {"value": "Rain."}),
        ("true", schema(value={"type": "boolean"}), {"value": True}),
        ('["a"]', schema(value={"type": "array", "items": {"type": "string"}}), {"value": ["a"]}),
        ('{"value": 5}', schema(value={"type": "integer"}), {"value": 5}),
        ('```json\n{"value": 5}\n```', schema(value={"type": "integer"}), {"value": 5}),
        ("Rain.", schema(a={"type": "string"}, n={"type": "integer"}), {"a": "Rain.", "n": 0}),
        ("Rain.", schema(kind={"enum": ["wet", "dry"]}), {"kind": "wet"}),
        ("dry", schema(kind={"enum": ["wet", "dry"]}), {"kind": "dry"}),
        ("Rain.", schema(day=schema(said={"type": ["string", "null"]})), {"day": {"said": "Rain."}}),
    ],
)
def test_plain_words_are_put_into_the_form_that_is_asked_for(
    new: Fake, api: str, said: str, form: dict[str, Any], wanted: Any
) -> None:
    new.play(Answer(said, as_form=True))
    assert text_of(api, ask(new, api, **FORMS[api](form))) == wanted


def test_an_answer_is_said_as_it_is(new: Fake) -> None:
    new.play("Rain.", Answer("Rain."), Answer("Rain.", as_form=True))
    form = FORMS["anthropic"](schema(value={"type": "string"}))
    assert ask(new, "anthropic", **form)["content"][0]["text"] == "Rain."
    assert ask(new, "anthropic", **form)["content"][0]["text"] == "Rain."
    assert text_of("anthropic", ask(new, "anthropic", **form)) == {"value": "Rain."}


def test_calls_are_not_touched_by_a_form(new: Fake) -> None:
    new.play(call("now"))
    form = FORMS["anthropic"](schema(value={"type": "string"}))
    assert [block["type"] for block in ask(new, "anthropic", **form)["content"]] == ["tool_use"]


def test_headers_are_kept_and_checked(echoing: Fake) -> None:
    body = BODIES["anthropic"] | {"thread": {"type": "create"}}
    beta = {"anthropic-beta": "message-threads-2026-08-12"}
    statuses = [
        httpx2.post(echoing.url + PATHS["anthropic"], json=body, headers=headers).status_code
        for headers in (HEADERS, HEADERS | beta)
    ]
    assert statuses == [400, 200]
    assert echoing.requests[1].headers["anthropic-beta"] == beta["anthropic-beta"]
    assert echoing.requests[1].headers["x-api-key"] == "[key]"
    assert "thread: Extra inputs are not permitted" in echoing.requests[0].rejected
