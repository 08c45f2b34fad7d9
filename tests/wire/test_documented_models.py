"""Each known model with each option, as the vendors document it: what is accepted passes, what is refused does not.

The tables are written from the documentation and not from the facts, and the bodies without our encoders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from antiphon.facts import list_known_models
from antiphon.wire.rules import check

Body = dict[str, Any]

# Anthropic: the kinds of thinking, efforts, and whether a tool can be forced, words be added, and tools be changed.

LEVELS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True)
class Claude:
    """What the documentation says of a model. `capped` is the kind of thinking with which effort ends at high."""

    kinds: tuple[str, ...]
    efforts: tuple[str, ...] = LEVELS
    forced: bool = True
    entries: bool = True
    #: `None` where the documentation lists neither.
    effort_entry: bool | None = True
    prefill: bool = False
    capped: str = ""
    #: The system's words within the conversation are taken, and not read.
    ignores: bool = False


ALWAYS = Claude(("adaptive",), forced=False)
OLDER = Claude(("enabled", "disabled"), (), entries=False, effort_entry=False, prefill=True)
CLAUDES = {
    "claude-fable-5-2": ALWAYS,
    "claude-mythos-5-2": ALWAYS,
    "claude-fable-5-1": ALWAYS,
    "claude-mythos-5-1": ALWAYS,
    "claude-opus-5-5": ALWAYS,
    "claude-sonnet-5-5": Claude(("adaptive", "between_tools"), forced=False, capped="between_tools"),
    "claude-haiku-5-5": Claude(("adaptive", "disabled"), capped="disabled"),
    "claude-opus-5": Claude(("adaptive", "disabled"), capped="disabled"),
    "claude-sonnet-5": Claude(("adaptive", "disabled"), entries=False, effort_entry=False, ignores=True),
    "claude-fable-5": Claude(("adaptive",), effort_entry=False),
    "claude-mythos-5": Claude(("adaptive",), effort_entry=False),
    "claude-opus-4-8": Claude(("adaptive", "disabled"), effort_entry=None),
    "claude-opus-4-7": Claude(("adaptive", "disabled"), entries=False, effort_entry=False),
    "claude-opus-4-6": Claude(
        ("adaptive", "enabled", "disabled"), ("low", "medium", "high", "max"), entries=False, effort_entry=False
    ),
    "claude-sonnet-4-6": Claude(
        ("adaptive", "enabled", "disabled"), ("low", "medium", "high", "max"), entries=False, effort_entry=False
    ),
    "claude-opus-4-5": Claude(
        ("enabled", "disabled"), ("low", "medium", "high"), entries=False, effort_entry=False, prefill=True
    ),
    "claude-sonnet-4-5": OLDER,
    "claude-haiku-4-5": OLDER,
}
BETAS = {
    "anthropic-version": "2026-10-21",
    "anthropic-beta": "mid-conversation-output-config-2026-07-01,mid-conversation-tool-changes-2026-07-01,"
    "inline-tools-2026-09-15,mid-conversation-system-clear-at-2026-08-21,thinking-binding-controls-2026-08-01",
}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
TOOL = {"name": "add", "description": "Add.", "input_schema": SCHEMA}
WORDS = {"type": "text", "text": "Hello."}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "c2ln"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"n": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "2"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


def user(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks) or "Hello."}


def assistant(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def messages(model: str) -> dict[str, Body]:
    """The kinds of requests: the fields are those of the documentation's examples."""
    base: Body = {"model": model, "max_tokens": 4096}
    mark = {"cache_control": {"type": "ephemeral"}}
    loop = [user(), assistant(THOUGHT, WORDS, CALL), user(RESULT)]
    return {
        "one question": base | {"messages": [user()]},
        "a system text": base | {"system": [WORDS | mark], "messages": [user(WORDS)], **mark},
        "a history": base | {"messages": [user(), assistant(THOUGHT, WORDS), user()], "stream": True},
        "tools": base | {"tools": [TOOL, TOOL | {"name": "sub"} | mark], "messages": [user()]},
        "results": base | {"tools": [TOOL], "messages": loop},
        "results and more words": base | {"tools": [TOOL], "messages": [*loop[:2], user(RESULT, WORDS)]},
        "a form": base | {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}, "messages": [user()]},
        "a strict tool": base | {"tools": [TOOL | {"strict": True}], "messages": [user()]},
        "a picture": base | {"messages": [user(PICTURE, WORDS)]},
        "a server's tool": base
        | {
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
            "messages": [user(), assistant(SEARCH, FOUND, WORDS), user()],
        },
        "a paused turn": base
        | {
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
            "messages": [user(), assistant(SEARCH)],
        },
    }


def merge(body: Body, option: Body) -> Body:
    """Add an option; those that are objects join what is there."""
    joined = body | option
    if "output_config" in body and "output_config" in option:
        joined["output_config"] = body["output_config"] | option["output_config"]
    if "entry" in option:
        joined["messages"] = [*body["messages"], *joined.pop("entry")]
    return joined


def thinking(kind: str) -> Body:
    return {"thinking": {"type": kind} | ({"budget_tokens": 1024} if kind == "enabled" else {})}


def claude_options(about: Claude) -> Iterator[tuple[str, Body, str]]:
    """Every option with the code of its refusal, or "" where it is accepted."""
    for kind in ("adaptive", "between_tools", "enabled", "disabled"):
        yield f"{kind} thinking", thinking(kind), "" if kind in about.kinds else "A28"
    for effort in LEVELS:
        yield f"effort {effort}", {"output_config": {"effort": effort}}, "" if effort in about.efforts else "A29"
        if about.capped:
            code = "A29" if effort in ("xhigh", "max") else ""
            yield f"{about.capped} and {effort}", thinking(about.capped) | {"output_config": {"effort": effort}}, code
    for choice in ({"type": "auto"}, {"type": "none"}):
        yield f"choice {choice['type']}", {"tools": [TOOL], "tool_choice": choice}, ""
    for choice in ({"type": "any"}, {"type": "tool", "name": "add"}):
        yield f"choice {choice['type']}", {"tools": [TOOL], "tool_choice": choice}, "" if about.forced else "A27"
    for name in ("temperature", "top_p", "top_k"):
        yield name, {name: 1}, "A30"
    yield "too long", {"max_tokens": 1_000_000}, "A45"


def claude_entries(about: Claude) -> Iterator[tuple[str, Body, str]]:
    """What is said within a conversation, with the code of its refusal."""
    words = {"role": "system", "content": "Be brief."}
    reference = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "add"}}
    inline = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": TOOL | {"name": "late"}}}
    deferred = {"tools": [TOOL | {"defer_loading": True}]}
    taken = about.entries or about.ignores
    yield "words of the system", {"entry": [words]}, "" if taken else "A13"
    for name, block in (("an added tool", reference), ("an inline tool", inline)):
        entry = {"role": "system", "content": [block]}
        yield name, deferred | {"entry": [entry]}, "" if about.entries else "A33"
    reminder = words | {"clear_at": "next_user_message"}
    yield "a reminder", {"entry": [reminder]}, "" if about.entries else "A34"
    change = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    if about.effort_entry is not None:
        code = "A35" if taken else "A13"
        yield "changed effort", {"entry": [change]}, "" if about.effort_entry else code
    prefill = {"role": "assistant", "content": "The answer is"}
    yield "a prefill", {"entry": [prefill]}, "" if about.prefill else "A12"


def codes(body: Body, api: str, **more: Any) -> set[str]:
    return {found.code for found in check(body, api, **more)}


def test_every_model_of_the_facts_is_in_a_table() -> None:
    known = {model.name for model in list_known_models() if model.facts.lifecycle.state != "retired"}
    homes = {model.name: model.provider for model in list_known_models()}
    tables = {"anthropic": {*CLAUDES, "claude-mythos-preview"}, "openai": {*GPTS, *UNDOCUMENTED}, "google": {*GEMINIS}}
    for provider, table in tables.items():
        assert {name for name in known if homes[name] == provider} - OPEN == table


@pytest.mark.parametrize("model", CLAUDES)
def test_a_claude_takes_what_is_documented_and_nothing_else(model: str) -> None:
    about = CLAUDES[model]
    for kind, body in messages(model).items():
        assert codes(body, "anthropic", headers=BETAS) == set(), kind
        for name, option, code in claude_options(about):
            if "tools" in option and ("tools" in body or "a paused turn" in kind):
                option = option | {"tools": [*body["tools"], TOOL]}
            if name == "enabled thinking" and not code and "results" in kind and "adaptive" not in about.kinds:
                assert codes(merge(body, option), "anthropic", headers=BETAS) == set(), (kind, name)
                continue
            found = codes(merge(body, option), "anthropic", headers=BETAS)
            assert found == ({code} if code else set()), (kind, name)


@pytest.mark.parametrize("model", CLAUDES)
def test_a_claude_takes_the_entries_that_are_documented(model: str) -> None:
    body = messages(model)["one question"]
    for name, option, code in claude_entries(CLAUDES[model]):
        found = codes(merge(body, option), "anthropic", headers=BETAS)
        assert (code in found) if code else not found, (name, found)


# OpenAI: efforts, the default, and whether Chat Completions takes functions

NONE = ("none", *LEVELS)


@dataclass(frozen=True)
class Gpt:
    efforts: tuple[str, ...]
    default: str
    #: Chat Completions takes functions: always, with effort none, or never.
    chat: str = "none"
    updates: bool = False
    adds_tools: bool = True
    sampling: bool = True


OLD = ("minimal", "low", "medium", "high")
GPTS = {
    "gpt-6-astra": Gpt(LEVELS, "medium", "never", updates=True, sampling=False),
    "gpt-6.1-sol": Gpt(LEVELS, "medium", "never", updates=True, sampling=False),
    "gpt-6.1-terra": Gpt(NONE, "medium", updates=True),
    "gpt-6-sol": Gpt(NONE, "medium", updates=True),
    "gpt-6-luna": Gpt(NONE, "medium", updates=True),
    "gpt-5.6-sol": Gpt(NONE, "medium"),
    "gpt-5.6-terra": Gpt(NONE, "medium"),
    "gpt-5.6-luna": Gpt(NONE, "medium"),
    "gpt-5.5": Gpt(NONE[:-1], "medium"),
    "gpt-5.5-pro": Gpt(("medium", "high", "xhigh"), "medium", "never", sampling=False),
    "gpt-5.4-pro": Gpt(("medium", "high", "xhigh"), "medium", "never", sampling=False),
    "gpt-5.2-pro": Gpt(("medium", "high", "xhigh"), "medium", "never", adds_tools=False, sampling=False),
    "gpt-5.4": Gpt(NONE[:-1], "none"),
    "gpt-5.4-mini": Gpt(NONE[:-1], "none"),
    "gpt-5.4-nano": Gpt(NONE[:-1], "none"),
    "gpt-5.3-codex": Gpt(NONE[:-1], "none", "always"),
    "gpt-5.2": Gpt(NONE[:-1], "none", "always"),
    "gpt-5.1": Gpt(NONE[:-2], "none", "always"),
    "gpt-5": Gpt(OLD, "medium", "always", adds_tools=False, sampling=False),
    "gpt-5-mini": Gpt(OLD, "medium", "always", adds_tools=False, sampling=False),
    "gpt-5-nano": Gpt(OLD, "medium", "always", adds_tools=False, sampling=False),
    "gpt-5-pro": Gpt(("high",), "high", "never", adds_tools=False, sampling=False),
    "o3": Gpt(OLD[1:], "medium", "always", adds_tools=False, sampling=False),
    "o3-pro": Gpt(OLD[1:], "medium", "never", adds_tools=False, sampling=False),
    "gpt-4.1": Gpt((), "", "always"),
    "gpt-4o": Gpt((), "", "always"),
}
#: Models of which nothing is documented but a price.
UNDOCUMENTED = {
    *("chat-latest", "gpt-6-cyber", "gpt-6-rosalind", "gpt-6-astra-law", "gpt-5.6-cyber"),
    *("gpt-daybreak-blue", "gpt-daybreak-red", "gpt-5-chat-latest", "gpt-5.2-chat-latest"),
}
FUNCTION = {"type": "function", "name": "add", "parameters": SCHEMA, "strict": True}
ASK = {"role": "user", "content": "Hello."}


def responses(model: str, *, reasons: bool) -> dict[str, Body]:
    base: Body = {"model": model, "store": False}
    thought = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}] if reasons else []
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
    call = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "2"}
    form = {"type": "json_schema", "name": "r", "schema": SCHEMA, "strict": True}
    return {
        "one question": base | {"input": "Hello."},
        "a history": base | {"instructions": "Be brief.", "input": [ASK, *thought, said, ASK], "stream": True},
        "functions": base | {"tools": [FUNCTION], "input": [ASK], "parallel_tool_calls": False},
        "outputs": base | {"tools": [FUNCTION], "input": [ASK, *thought, call, output]},
        "a form": base | {"text": {"format": form}, "input": [ASK]},
        "the background": base | {"background": True, "store": True, "input": [ASK]},
    }


def completions(model: str) -> dict[str, Body]:
    form = {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA, "strict": True}}
    base: Body = {"model": model, "messages": [{"role": "developer", "content": "Be brief."}, ASK]}
    return {
        "one question": base | {"max_completion_tokens": 100},
        "a form": base | {"response_format": form, "stream": True, "stream_options": {"include_usage": True}},
    }


@pytest.mark.parametrize("model", GPTS)
def test_a_gpt_takes_what_is_documented_by_responses(model: str) -> None:
    about = GPTS[model]
    for kind, body in responses(model, reasons=bool(about.efforts)).items():
        assert codes(body, "openai-responses") == set(), kind
        for effort in ("none", "minimal", *LEVELS):
            option = body | {"reasoning": {"effort": effort}}
            assert codes(option, "openai-responses") == (set() if effort in about.efforts else {"R19"}), (kind, effort)
        for choice in ("auto", "none", "required", {"type": "function", "name": "add"}):
            option = body | {"tools": [FUNCTION], "tool_choice": choice}
            assert codes(option, "openai-responses") == set(), (kind, choice)
        plain = body | ({"reasoning": {"effort": "none"}} if "none" in about.efforts else {})
        sampled = plain | {"temperature": 0.5}
        assert codes(sampled, "openai-responses") == (set() if about.sampling else {"R20"}), kind
        if about.default not in ("", "none"):
            assert codes(body | {"temperature": 0.5}, "openai-responses") == {"R20"}, kind
    added = {"type": "additional_tools", "role": "developer", "tools": [FUNCTION]}
    if about.adds_tools and about.efforts and "pro" not in model and model >= "gpt-5.4":
        assert codes({"model": model, "input": [ASK, added]}, "openai-responses") == set()
    update = {"type": "configuration_update", "text": {"format": {"type": "text"}}}
    if about.updates:
        assert codes({"model": model, "input": [ASK, update, ASK]}, "openai-responses") == set()
        assert codes({"model": model, "input": [ASK, update, update]}, "openai-responses") == {"R21"}


@pytest.mark.parametrize("model", GPTS)
def test_a_gpt_takes_what_is_documented_by_chat(model: str) -> None:
    about = GPTS[model]
    if "pro" in model:
        return
    for kind, body in completions(model).items():
        assert codes(body, "openai-chat") == set(), kind
        for effort in ("none", "minimal", *LEVELS):
            taken = effort in about.efforts and effort != "max"
            option = body | {"reasoning_effort": effort}
            assert codes(option, "openai-chat") == (set() if taken else {"O17"}), (kind, effort)
            if taken:
                option |= {"tools": [{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}]}
                fits = about.chat == "always" or (about.chat == "none" and effort == "none")
                assert codes(option, "openai-chat") == (set() if fits else {"O15"}), (kind, effort)
        limited = body | {"max_tokens": 9}
        assert codes(limited, "openai-chat") == ({"O16"} if about.efforts else set()), kind


# Google: levels or a budget, and whether a form goes with tools


@dataclass(frozen=True)
class Gemini:
    levels: tuple[str, ...] = ()
    budget: tuple[int, int] | None = None
    can_be_off: bool = True
    form_with_tools: bool = True


MANY = ("minimal", "low", "medium", "high")
GEMINIS = {
    "gemini-4-argon": Gemini(MANY[1:]),
    "gemini-4-carbon": Gemini(MANY[1:]),
    "gemini-4-hydrogen": Gemini((*MANY[1:], "xhigh")),
    "gemini-3.8-flash": Gemini(MANY[1:]),
    "gemini-3.7-flash": Gemini(MANY[1:]),
    "gemini-3.6-flash": Gemini(MANY),
    "gemini-3.5-flash": Gemini(MANY),
    "gemini-3.5-flash-lite": Gemini(MANY),
    "gemini-3.1-pro-preview": Gemini(MANY[1:]),
    "gemini-3.1-flash-lite": Gemini(MANY),
    "gemini-3-flash-preview": Gemini(MANY),
    "gemini-2.5-pro": Gemini(budget=(128, 32768), can_be_off=False, form_with_tools=False),
    "gemini-2.5-flash": Gemini(budget=(0, 24576), form_with_tools=False),
    "gemini-2.5-flash-lite": Gemini(budget=(0, 24576), form_with_tools=False),
}
OPEN = {"gemma-4-31b-it", "gemma-3-27b-it"}


def contents() -> dict[str, Body]:
    asked = {"role": "user", "parts": [{"text": "Hello."}]}
    call = {"functionCall": {"name": "add", "args": {}}, "thoughtSignature": "c2ln"}
    response = {"functionResponse": {"name": "add", "response": {"result": 2}}}
    tools = [{"functionDeclarations": [{"name": "add", "parametersJsonSchema": SCHEMA}]}]
    step = [asked, {"role": "model", "parts": [call]}, {"role": "user", "parts": [response]}]
    return {
        "one question": {"contents": [asked], "systemInstruction": {"parts": [{"text": "Be brief."}]}},
        "functions": {"contents": [asked], "tools": tools},
        "responses": {"contents": step, "tools": tools, "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}},
        "a search": {"contents": [asked], "tools": [{"googleSearch": {}}]},
        "a picture": {
            "contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]}]
        },
    }


@pytest.mark.parametrize("model", GEMINIS)
def test_a_gemini_takes_what_is_documented(model: str) -> None:
    about = GEMINIS[model]

    def found(body: Body, **config: Any) -> set[str]:
        return codes(body | {"generationConfig": config}, "gemini", model=model)

    for kind, body in contents().items():
        assert found(body, temperature=1, maxOutputTokens=100) == set(), kind
        for level in (*MANY, "xhigh"):
            taken = found(body, thinkingConfig={"thinkingLevel": level.upper(), "includeThoughts": True})
            assert taken == (set() if level in about.levels else {"G16"}), (kind, level)
        if about.budget:
            least, most = about.budget
            for budget, fits in ((-1, True), (0, about.can_be_off), (most, True), (most + 1, False), (least, True)):
                taken = found(body, thinkingConfig={"thinkingBudget": budget})
                assert taken == (set() if fits else {"G17"}), (kind, budget)
        elif model.startswith("gemini-4"):
            assert found(body, thinkingConfig={"thinkingBudget": 1024}) == {"G17"}, kind
        form = found(body, responseMimeType="application/json", responseJsonSchema=SCHEMA)
        functions = kind in ("functions", "responses")
        assert form == ({"G13"} if functions and not about.form_with_tools else set()), kind
        constant = SCHEMA | {"properties": {"n": {"const": 1}}}
        assert "G18" in found(body, responseMimeType="application/json", responseJsonSchema=constant), kind
