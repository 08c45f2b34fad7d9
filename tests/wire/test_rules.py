from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import antiphon.wire.rules as rules
from antiphon.errors import OptionError
from antiphon.wire import APIS
from antiphon.wire.rules import RULES, Violation, check
from antiphon.wire.rules.table import update_rules_page
from tests.recordings import RECORDED_APIS, compatible_exchanges, exchanges
from tests.wire.model_rule_cases import CASES
from tests.wire.rule_cases import (
    ASK,
    ENABLED,
    IMAGE,
    REASONING,
    SAID,
    STEP,
    WORDS,
    Case,
    assistant,
    call,
    chat,
    chat_call,
    claude,
    declared,
    gemini_call,
    gemini_response,
    generate,
    item_call,
    item_output,
    respond,
    result,
    said,
    step_call,
    step_result,
    text,
    thought,
    user,
)

#: The letters of all rule codes.
LETTERS = "".join(spec.rule_letter for spec in APIS.values())


def by_name(case: Case) -> str:
    return f"{case.code} {case.name}"


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_a_broken_rule_is_told_in_the_providers_words(case: Case) -> None:
    found = check(case.broken, case.api, case.model, provider=case.provider, headers=case.headers)
    same = [violation for violation in found if (violation.code, violation.message) == (case.code, case.message)]
    assert len(same) == 1, found
    assert case.param in (None, same[0].param)
    assert case.error_code in ("", same[0].error_code)


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_the_sound_twin_breaks_no_rule(case: Case) -> None:
    headers = case.sound_headers or case.headers
    assert check(case.sound, case.api, case.model, provider=case.provider, headers=headers) == []


def test_every_code_in_the_rules_has_a_case() -> None:
    checkers = [path for path in Path(rules.__file__).parent.glob("*.py") if not path.name.endswith("table.py")]
    source = "".join(path.read_text() for path in checkers)
    reported = set(re.findall(rf'"([{LETTERS}]\d+)"', source))
    assert reported == {case.code for case in CASES}


def test_every_code_that_is_cited_anywhere_is_in_the_table() -> None:
    root = Path(rules.__file__).parents[4]
    pages = [*(root / "src").glob("**/*.py"), *(root / "docs").glob("**/*.md"), root / "README.md"]
    code = re.compile(rf"\b[{LETTERS}]\d{{1,2}}\b")
    cited = {each for page in pages for each in code.findall(page.read_text(encoding="utf-8"))}
    assert cited == RULES.keys()


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_the_table_has_the_words_of_every_violation(case: Case) -> None:
    for found in check(case.broken, case.api, case.model, provider=case.provider, headers=case.headers):
        patterns = [re.escape(wording).replace("…", ".*") for wording in RULES[found.code].wordings]
        assert any(re.fullmatch(pattern, found.message, re.DOTALL) for pattern in patterns), found


def test_the_page_of_the_rules_has_the_table() -> None:
    published = (Path(rules.__file__).parents[4] / "docs" / "rules.md").read_text(encoding="utf-8")
    assert published == update_rules_page(published)
    assert all(f"| {code} | " in published for code in RULES)


@pytest.mark.parametrize(
    ("api", "body", "owner", "others"),
    [
        ("openai-chat", chat(ASK, {"role": "assistant", "content": "x", "tool_calls": []}), ["O4"], []),
        ("openai-chat", chat({"role": "user", "content": None}, tool_choice="auto"), ["O7", "O8"], []),
        ("openai-chat", chat(ASK, {"role": "tool", "tool_call_id": "c", "content": ""}), ["O1"], ["O1"]),
        ("openai-responses", respond(ASK, REASONING, SAID, ASK, REASONING, SAID), ["R9", "R9"], []),
        ("openai-responses", respond(ASK, {"type": "custom_tool_call", "call_id": "c"}), ["R17"], []),
        ("openai-responses", respond(ASK, item_call()), ["R1"], ["R1"]),
        ("anthropic", claude(user(text(), text(""))), ["A9"], []),
        ("gemini", generate(said(WORDS), said(WORDS, role="model")), ["G10"], []),
    ],
)
def test_a_server_that_speaks_anothers_api_is_asked_only_what_it_wants(
    api: str, body: dict[str, Any], owner: list[str], others: list[str]
) -> None:
    def codes(provider: str | None) -> list[str]:
        return [found.code for found in check(body, api, provider=provider)]

    assert codes(None) == codes({"anthropic": "anthropic", "gemini": "google"}.get(api, "openai")) == owner
    assert codes("openrouter") == codes("xai") == codes("somebody") == others


def test_every_violation_is_returned() -> None:
    body = claude(user(text("")), assistant(call("a.b"), call("toolu_2")), user(result("toolu_9")))
    assert sorted(violation.code for violation in check(body, "anthropic")) == ["A1", "A2", "A6", "A9"]


def test_an_unknown_api_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        OptionError, match="`anthropic`, `openai-chat`, `openai-responses`, `gemini`, `google-interactions`"
    ):
        check({}, "bedrock")


def test_a_violation_is_a_value() -> None:
    assert Violation("A1", "text") == Violation("A1", "text", "", "")


def test_the_model_argument_stands_in_for_the_bodys() -> None:
    body = claude(user(text()), assistant(text()))
    del body["model"]
    assert [violation.code for violation in check(body, "anthropic")] == ["A0"]
    assert check(body, "anthropic", "claude-sonnet-4-5") == []
    assert [violation.code for violation in check(body, "anthropic", "claude-sonnet-5")] == ["A12"]


SERVER_CALL = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}}
SERVER_RESULT = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {}}
ADDITION = {"role": "system", "content": [{"type": "tool_addition", "tool_name": "add"}]}

ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("anthropic", claude(assistant(text()), user(text()))),
    ("anthropic", claude(user(text()), assistant(call()), assistant(call("b")), user(result(), result("b")))),
    ("anthropic", claude(user(text()), assistant(SERVER_CALL, call()), user(result()), assistant(SERVER_RESULT))),
    ("anthropic", claude(user(text()), assistant(SERVER_CALL), model="claude-opus-5")),
    ("anthropic", claude(user(text()), assistant({"type": "compaction", "content": "S"}), model="claude-opus-5")),
    ("anthropic", claude(user(text()), assistant(call()), ADDITION, user(result()), ADDITION, model="claude-fable-5")),
    ("anthropic", claude(user(text()), {"role": "system", "content": "Be brief."}, model="some-model")),
    ("anthropic", claude(user(text()), assistant(call()), user({"type": "tool_result", "tool_use_id": "toolu_1"}))),
    ("anthropic", claude(user(text()), assistant(call()), user(result(content=[IMAGE, {"type": "tool_reference"}])))),
    ("anthropic", claude(user({"type": "a_new_block"}, text()), tools=[{"type": "web_search_20250305", "name": "w"}])),
    ("anthropic", claude({"role": "user", "content": "Hello"}, {"role": "assistant", "content": ""})),
    ("anthropic", claude(user(text()), *(assistant(call()), user(result())) * 2)),
    ("anthropic", claude(user(text()), assistant(thought(), text("\n\n"), call()), user(result(), text(" ")))),
    (
        "anthropic",
        claude(
            user(text()),
            *(assistant(thought(), call()), user(result())),
            *(assistant(call("b")), user(result("b"))),
            thinking=ENABLED,
        ),
    ),
    ("anthropic", claude(user(text()), assistant(text()), user(text()), thinking=ENABLED)),
    (
        "anthropic",
        claude(user(text()), model="claude-opus-4-6", thinking={"type": "adaptive"}, tool_choice={"type": "any"}),
    ),
    ("openai-chat", chat(ASK, {"role": "assistant", "tool_calls": [chat_call()]}, {**ASK, "role": "system"},
                         {"role": "tool", "tool_call_id": "call_1", "content": ""})),
    ("openai-chat", chat(ASK, {"role": "assistant", "content": None, "refusal": "No."}, ASK)),
    ("openai-chat", chat(ASK, {"role": "assistant", "audio": {"id": "audio_1"}}, ASK)),
    ("openai-chat", chat({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}, {"type": "new"}]})),
    ("openai-chat", chat(ASK, {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
                         {"role": "function", "name": "f", "content": None})),
    ("openai-chat", chat(ASK, {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "x"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "1"}]})),
    ("openai-chat", chat(ASK, tools=[{"type": "custom", "custom": {"name": "sql"}}], tool_choice="none")),
    ("openai-responses", {"model": "gpt-5", "input": "Hello"}),
    ("openai-responses", {"prompt": {"id": "pmpt_1"}}),
    ("openai-responses", respond(ASK, tool_choice="auto")),
    ("openai-responses", respond(item_output(), conversation="conv_1")),
    ("openai-responses", respond(REASONING, ASK, previous_response_id="resp_1")),
    ("openai-responses", respond({"type": "item_reference", "id": "fc_1"}, item_output())),
    ("openai-responses", respond({"id": "fc_1"}, item_output())),
    ("openai-responses", respond({"type": "compaction", "encrypted_content": "x"}, item_output())),
    ("openai-responses", respond(ASK, item_call(), SAID, item_output(output=[{"type": "input_image"}]))),
    ("openai-responses", respond({"type": "local_shell_call", "call_id": "call_1"}, item_output())),
    ("openai-responses", respond(ASK, {"type": "tool_search_call", "call_id": None}, {"type": "tool_search_output"})),
    ("openai-responses", respond(ASK, REASONING, {"type": "mcp_call", "id": "mcp_1"}, ASK)),
    ("openai-responses", respond(ASK, {**REASONING, "id": "rs_0"}, REASONING, SAID, ASK)),
    ("openai-responses", respond(ASK, REASONING, {"role": "assistant", "content": "Hm."}, ASK, store=False)),
    ("openai-responses", respond(ASK, REASONING, item_call(), item_output())),
    ("openai-responses", respond(ASK, tools=[{"type": "web_search"}, {"type": "custom", "name": "x"}])),
    ("gemini", {"contents": {"role": "USER", "parts": {"text": "Hello"}}}),
    ("gemini", {"contents": [{"parts": [{"text": "Hello"}]}]}),
    ("gemini", generate(*STEP["contents"], said(WORDS))),
    ("gemini", generate(said(WORDS), said(gemini_call(), role="model"), said(gemini_response(), WORDS))),
    ("gemini", generate(said(WORDS), *[said(gemini_call(), role="model")] * 2, *[said(gemini_response())] * 2)),
    ("gemini", generate(said(WORDS), said(gemini_call(None), role="model"), said(gemini_response()), said(WORDS))),
    ("gemini", generate(said(WORDS), said({"toolCall": {}}, {"toolResponse": {}}, WORDS, role="model"), said(WORDS))),
    ("gemini", generate(said(WORDS), said({"executableCode": {}}, {"codeExecutionResult": {}}, role="model"),
                        said({"inlineData": {}}))),
    ("gemini", declared({"type": "OBJECT", "properties": {}})),
    ("gemini", generate(said(WORDS), tools=[{"function_declarations": [
        {"name": "f", "parametersJsonSchema": {"type": "object", "additionalProperties": False}}]}])),
    ("gemini", generate(said(WORDS), tools={"googleSearch": {}}, generation_config={"topK": 1})),
]  # fmt: skip


@pytest.mark.parametrize(("api", "body"), [pytest.param(*pair, id=f"{n}-{pair[0]}") for n, pair in enumerate(ACCEPTED)])
def test_unusual_but_legal_bodies_pass(api: str, body: dict[str, Any]) -> None:
    model = "gemini-3-pro-preview" if api == "gemini" else None
    assert check(body, api, model) == []


def test_rules_of_some_models_are_silent_about_unknown_ones() -> None:
    assert check(claude(user(text()), assistant(text("So ")), model="local"), "anthropic") == []
    unsigned = generate(said(WORDS), said(gemini_call(None), role="model"), said(gemini_response()))
    assert check(unsigned, "gemini") == []
    assert check(unsigned, "gemini", "gemini-2.5-pro") == []


def test_nothing_is_guessed_about_an_unknown_model_of_a_known_family() -> None:
    options = {"tool_choice": {"type": "any"}, "thinking": {"type": "disabled"}, "output_config": {"effort": "huge"}}
    assert check(claude(user(text()), model="claude-aria-9", **options), "anthropic") == []
    assert check(respond(ASK, model="gpt-9-sol", reasoning={"effort": "huge"}), "openai-responses") == []
    level = {"thinkingConfig": {"thinkingLevel": "huge"}}
    assert check(generate(said(WORDS), generationConfig=level), "gemini", "gemini-9-xenon") == []


def test_with_a_stored_conversation_calls_in_the_body_still_need_their_outputs() -> None:
    found = check(respond(item_call(), previous_response_id="resp_1"), "openai-responses")
    assert [violation.code for violation in found] == ["R1"]


KEYS = st.sampled_from(
    [
        "type",
        "role",
        "content",
        "id",
        "call_id",
        "tool_use_id",
        "tool_call_id",
        "tool_calls",
        "function",
        "name",
        "input",
        "arguments",
        "output",
        "text",
        "thinking",
        "signature",
        "parts",
        "functionCall",
        "function_response",
        "response",
        "args",
        "thoughtSignature",
        "tools",
        "parameters",
        "properties",
        "required",
        "items",
        "anyOf",
        "input_schema",
        "cache_control",
        "strict",
        "additionalProperties",
    ]
)
WORDS_USED = st.sampled_from(
    [
        "user",
        "assistant",
        "system",
        "tool",
        "model",
        "function",
        "text",
        "tool_use",
        "tool_result",
        "thinking",
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "item_reference",
        "object",
        "OBJECT",
        "toolu_1",
        "rs_1",
        "enabled",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS_USED,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5),
    max_leaves=15,
)
BODY_KEYS = st.sampled_from(
    [
        "model",
        "messages",
        "input",
        "contents",
        "tools",
        "tool_choice",
        "thinking",
        "system",
        "response_format",
        "generationConfig",
        "store",
    ]
)
LISTS = {api: spec.history.field for api, spec in APIS.items()}
MODELS = st.sampled_from([None, "claude-opus-4-8", "claude-3-opus-latest", "gpt-4o", "gemini-3-pro", "gemini-1.5-pro"])
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def well_formed(found: list[Violation]) -> bool:
    return all(violation.code and violation.message for violation in found)


@pytest.mark.parametrize("api", APIS)
@FEW
@given(body=JSON | st.dictionaries(BODY_KEYS, JSON, max_size=6), model=MODELS)
@example(body=10**6000, model=None)
def test_any_json_is_checked_without_raising(api: str, body: object, model: str | None) -> None:
    assert well_formed(check(body, api, model))


@pytest.mark.parametrize("api", APIS)
@FEW
@given(entries=st.lists(JSON | st.dictionaries(KEYS, JSON, max_size=6), max_size=5), model=MODELS)
@example(entries=[{"parts": [{"functionResponse": {"response": 10**6000}}]}], model=None)
def test_any_entries_are_checked_without_raising(api: str, entries: list[object], model: str | None) -> None:
    body = {"model": "x", "max_tokens": 1, LISTS[api]: entries, "tools": entries}
    assert well_formed(check(body, api, model))


@pytest.mark.parametrize("api", APIS)
def test_deep_bodies_are_checked_without_raising(api: str) -> None:
    deep: Any = {}
    for level in range(5_000):
        key, value = (("properties", {"a": deep}), ("content", [deep]), ("parts", [deep]), ("items", deep))[level % 4]
        deep = {"type": "object", key: value}
    function = {"name": "f", "strict": True, "parameters": deep, "input_schema": deep}
    tools = [{"type": "function", "function": function, "functionDeclarations": [function]}]
    assert well_formed(check({LISTS[api]: [deep, deep], "tools": tools, "content": deep}, api, "gemini-2"))


LONG = {
    "anthropic": lambda n: [m for i in range(n) for m in (assistant(call(f"t{i}")), user(result(f"t{i}")))],
    "openai-chat": lambda n: [
        m
        for i in range(n)
        for m in (
            {"role": "assistant", "tool_calls": [chat_call(f"c{i}")]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": ""},
        )
    ],
    "openai-responses": lambda n: [m for i in range(n) for m in (item_call(f"c{i}"), item_output(f"c{i}"))],
    "gemini": lambda n: [
        said(WORDS),
        *(m for _ in range(n) for m in (said(gemini_call(), role="model"), said(gemini_response()))),
    ],
    "google-interactions": lambda n: [m for i in range(n) for m in (step_call(f"c{i}"), step_result(f"c{i}"))],
}


@pytest.mark.parametrize("api", APIS)
def test_the_work_grows_with_the_length_of_the_body(api: str) -> None:
    def calls(turns: int) -> int:
        body = {"model": "gpt-5", "max_output_tokens": 1, LISTS[api]: LONG[api](turns)}
        body |= {"max_tokens": 1} if api == "anthropic" else {}
        made = 0

        def count(_: object, event: str, __: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            assert check(body, api) == []
        finally:
            sys.setprofile(None)
        return made

    assert calls(1600) < 5 * calls(400)


def checked(exchange: dict[str, Any], api: str) -> list[Violation]:
    model = exchange["uri"].rpartition("/models/")[2].partition(":")[0] if api == "gemini" else None
    return check(exchange["request"], api, model)


@pytest.mark.parametrize("api", RECORDED_APIS)
def test_what_the_provider_accepted_breaks_no_rule(api: str) -> None:
    alarms = {
        exchange["id"]: found
        for exchange in exchanges(api)
        if exchange["status"] == 200 and (found := checked(exchange, api))
    }
    assert alarms == {}


@pytest.mark.parametrize("api", RECORDED_APIS)
def test_a_rejection_for_pairing_is_foreseen_in_the_same_words(api: str) -> None:
    for exchange in exchanges(api):
        answer = json.dumps(exchange["response"])
        if exchange["status"] == 400 and re.search("tool_use|tool_call|tool output|'reasoning'|function call", answer):
            message = exchange["response"]["error"]["message"]
            assert message in [violation.message for violation in checked(exchange, api)]


def test_what_a_compatible_server_accepted_breaks_no_rule_of_it() -> None:
    alarms = {
        exchange["id"]: found
        for exchange in compatible_exchanges()
        if exchange["status"] == 200
        and (found := check(exchange["request"], exchange["api"], provider=exchange["provider"]))
    }
    assert alarms == {}


def test_a_compatible_servers_rejection_for_pairing_is_foreseen_in_the_same_words() -> None:
    for exchange in compatible_exchanges():
        error = exchange["response"].get("error") if exchange["status"] == 400 else None
        message = error["message"] if isinstance(error, dict) else ""
        if message.startswith("No tool output found"):
            found = check(exchange["request"], exchange["api"], provider=exchange["provider"])
            assert message in [violation.message for violation in found]


def test_a_model_that_the_address_names_is_not_missed() -> None:
    messages = [{"role": "user", "content": "x"}]
    hosted = {"messages": messages, "max_tokens": 5, "anthropic_version": "bedrock-2023-05-31"}
    assert rules.check({"messages": messages}, "openai-chat", provider="azure") == []
    assert rules.check(hosted, "anthropic", provider="bedrock") == rules.check(hosted, "anthropic") == []
    assert [found.code for found in rules.check({"messages": messages}, "openai-chat")] == ["O0"]
    assert [found.code for found in rules.check({"messages": messages, "max_tokens": 5}, "anthropic")] == ["A0"]
    assert [found.code for found in rules.check(hosted | {"model": 3}, "anthropic")] == ["A0"]
