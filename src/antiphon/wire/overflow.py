"""How servers say that a conversation is too long for the model: few have a code for it, and none of them the same."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from antiphon.errors import ContextOverflow
from antiphon.wire.reply import ErrorText

#: The codes and types of those that have one: OpenAI and its followers, llama.cpp, Z.ai, LiteLLM.
_KINDS = frozenset(
    (
        *("context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "1261"),
        *("model_context_window_exceeded", "ContextWindowExceededError", "prompt_too_long"),
    )
)
_T, _L = r"(?P<tokens>\d[\d,]{0,14})", r"(?P<limit>\d[\d,]{0,14})"
#: The wordings that tell a size, then those that tell none.
_WORDINGS = (
    # Anthropic, and Fireworks.
    rf"prompt is too long: {_T} tokens > {_L}",
    rf"prompt is too long: {_T}, model maximum context length: {_L}",
    rf"exceed context limit: {_T} \+ \d+ > {_L}",
    # Gemini.
    rf"input token count \({_T}\) exceeds the maximum number of tokens allowed \(?{_L}",
    rf"input token count exceeds the maximum number of tokens allowed \(?{_L}",
    # vLLM, which asks for less output where a shorter prompt would help as well.
    rf"maximum context length is {_L} tokens and your request has {_T} input tokens",
    rf"maximum context length is {_L} tokens\b.{{0,80}}\bprompt contains (?:at least )?{_T} input tokens",
    rf"you passed {_T} input tokens\b.{{0,120}}\bcontext length is only {_L} tokens",
    rf"prompt \(length {_T}\) is longer than the maximum model length of {_L}",
    # OpenAI, DeepSeek, OpenRouter, vLLM.
    rf"maximum context length is {_L} tokens\b.{{0,40}}\b(?:requested|resulted in|contains)(?: about)? {_T} tokens",
    rf"maximum context length (?:is|of) {_L}\b",
    # xAI; Mistral; Together and SGLang; llama.cpp; Groq and Cerebras; Copilot; Moonshot; DashScope, TGI and others.
    rf"maximum prompt length is {_L} but the request contains {_T} tokens",
    rf"prompt contains {_T} tokens\b.{{0,60}}\btoo large for model with {_L} maximum context length",
    rf"\({_T}(?: tokens)?\) (?:is longer than|exceeds) (?:the )?model's (?:maximum )?context length \({_L}",
    rf"\({_T} tokens\) exceeds the available context size \({_L}",
    rf"reduce the length of the messages or completion\. current length is {_T} while limit is {_L}",
    rf"token count of {_T} exceeds the limit of {_L}",
    rf"exceeded model token limit: {_L} \(requested: {_T}",
    rf"prompt_tokens \({_T}\) must be less than max_seq_len \({_L}",
    rf"inputs?`? (?:tokens \+ `?max_new_tokens`? must be <=|must have less than) {_L}\b.{{0,20}}\bgiven: {_T}",
    rf"keep the first {_T} tokens\b.{{0,80}}\bcontext length of only {_L}",
    # In words alone: Ollama, Bedrock, OpenAI's Responses, MiniMax, LM Studio, Cohere, Z.ai, LiteLLM and gateways.
    r"\b(?:prompt|input|context|conversation) (?:is |was )?too long\b|\bprompt (?:is |was )?too large\b",
    r"\bexceed(?:s|ed|ing)?\b.{0,40}\b(?:context (?:length|window|size|limit)|maximum model length)\b",
    r"\bcontext (?:length|window|size|limit)(?: \w+){0,3} exceed(?:s|ed)\b|context_?(?:length|window)_?exceeded",
    r"\b(?:longer|larger|greater) than (?:the )?(?:\S+ )?(?:maximum )?context (?:length|window|size)\b",
    r"\b(?:prompt|input|messages?)\b.{0,40}\bexceeds? (?:the |its )?max(?:imum)?(?: \w+){0,4} (?:length|tokens)\b",
    r"\btoo many (?:input |prompt )?tokens\b|\breduce the length of the (?:messages|prompt|input)\b",
    r"\brange of input length should be\b|\bprompt 超长",
)
#: What limits the use of the service, not the length of a conversation.
_RATES = r"(?i)rate.?limit|quota|\bper (?:minute|min|hour|day)\b|\bTPM\b|please wait|throttl"
#: An answer that would not fit even after nothing: the option is wrong, not the conversation.
_OUTPUT = (
    r"(?i)is too large: (\d{1,12})|(?<!\d)(\d{1,12}) (?:in|for) the completion|requested (\d{1,12}) output tokens"
    r"|^\W*max_\w*tokens\b[^.]*exceed"
)


def overflow(said: ErrorText, message: str, **about: Any) -> ContextOverflow | None:
    """The error, if what a server says means that the conversation is too long; `about` are its other fields."""
    found = next((match for words in _wordings() if (match := words.search(said.message))), None)
    tokens, limit = _sizes(found) if found else (None, None)
    if said.kind not in _KINDS:
        rates = re.search(_RATES, said.message) or re.search(_RATES, said.kind)
        if not found or rates or _wants_too_much(said.message, limit):
            return None
    error = ContextOverflow(f"{message}; `conversation.compact` makes it shorter", **about)
    error.tokens, error.limit = said.sizes[0] or tokens, said.sizes[1] or limit
    return error


@cache
def _wordings() -> tuple[re.Pattern[str], ...]:
    """Made when the first error comes: few programs see one, and all of them are imported."""
    return tuple(re.compile(words, re.IGNORECASE | re.DOTALL) for words in _WORDINGS)


def _sizes(found: re.Match[str]) -> tuple[int | None, int | None]:
    told = {name: int(digits.replace(",", "")) for name, digits in found.groupdict().items() if digits}
    return told.get("tokens"), told.get("limit")


def _wants_too_much(text: str, limit: int | None) -> bool:
    found = re.search(_OUTPUT, text)
    if not found:
        return False
    asked = next((int(digits) for digits in found.groups() if digits), None)
    return asked is None or (limit is not None and asked >= limit)
