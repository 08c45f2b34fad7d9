"""Recognition of errors that say a conversation is too long. Few servers have a code, and every code
differs.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from antiphon.errors import ContextOverflow
from antiphon.wire.reply import ProviderErrorInfo

#: Error codes and types of OpenAI and compatible servers, llama.cpp, Z.ai, LiteLLM.
_OVERFLOW_CODES = frozenset(
    (
        *("context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "1261"),
        *("model_context_window_exceeded", "ContextWindowExceededError", "prompt_too_long"),
    )
)
_T, _L = r"(?P<tokens>\d[\d,]{0,14})", r"(?P<limit>\d[\d,]{0,14})"
#: Message patterns: first those with sizes, then those without.
_WORDINGS = (
    # Anthropic, and Fireworks.
    rf"prompt is too long: {_T} tokens > {_L}",
    rf"prompt is too long: {_T}, model maximum context length: {_L}",
    rf"exceed context limit: {_T} \+ \d+ > {_L}",
    # Gemini.
    rf"input token count \({_T}\) exceeds the maximum number of tokens allowed \(?{_L}",
    rf"input token count exceeds the maximum number of tokens allowed \(?{_L}",
    # vLLM, which asks for less output although a shorter prompt would help too.
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
    # Without sizes: Ollama, Bedrock, OpenAI's Responses, MiniMax, LM Studio, Cohere, Z.ai, LiteLLM and gateways.
    r"\b(?:prompt|input|context|conversation) (?:is |was )?too long\b|\bprompt (?:is |was )?too large\b",
    r"\bexceed(?:s|ed|ing)?\b.{0,40}\b(?:context (?:length|window|size|limit)|maximum model length)\b",
    r"\bcontext (?:length|window|size|limit)(?: \w+){0,3} exceed(?:s|ed)\b|context_?(?:length|window)_?exceeded",
    r"\b(?:longer|larger|greater) than (?:the )?(?:\S+ )?(?:maximum )?context (?:length|window|size)\b",
    r"\b(?:prompt|input|messages?)\b.{0,40}\bexceeds? (?:the |its )?max(?:imum)?(?: \w+){0,4} (?:length|tokens)\b",
    r"\btoo many (?:input |prompt )?tokens\b|\breduce the length of the (?:messages|prompt|input)\b",
    r"\brange of input length should be\b|\bprompt 超长",
)
#: Errors about usage limits, not about the length of a conversation.
_RATE_LIMIT = r"(?i)rate.?limit|quota|\bper (?:minute|min|hour|day)\b|\bTPM\b|please wait|throttl"
#: Errors about a requested output that exceeds the window by itself: the option is wrong.
_OUTPUT_TOO_LARGE = (
    r"(?i)is too large: (\d{1,12})|(?<!\d)(\d{1,12}) (?:in|for) the completion|requested (\d{1,12}) output tokens"
    r"|^\W*max_\w*tokens\b[^.]*exceed"
)


def make_overflow_error(said: ProviderErrorInfo, message: str, **about: Any) -> ContextOverflow | None:
    """Return a ContextOverflow if the server's error means that, else None. `about` holds its other
    fields.
    """
    found = next((match for words in _compile_wordings() if (match := words.search(said.message))), None)
    tokens, limit = _extract_sizes(found) if found else (None, None)
    if said.kind not in _OVERFLOW_CODES:
        rates = re.search(_RATE_LIMIT, said.message) or re.search(_RATE_LIMIT, said.kind)
        if not found or rates or _requests_too_much_output(said.message, limit):
            return None
    error = ContextOverflow(f"{message}; `conversation.compact` makes it shorter", **about)
    error.tokens, error.limit = said.sizes[0] or tokens, said.sizes[1] or limit
    return error


@cache
def _compile_wordings() -> tuple[re.Pattern[str], ...]:
    """Compile the patterns on first use: few programs see such an error, but all import this module."""
    return tuple(re.compile(words, re.IGNORECASE | re.DOTALL) for words in _WORDINGS)


def _extract_sizes(found: re.Match[str]) -> tuple[int | None, int | None]:
    told = {name: int(digits.replace(",", "")) for name, digits in found.groupdict().items() if digits}
    return told.get("tokens"), told.get("limit")


def _requests_too_much_output(text: str, limit: int | None) -> bool:
    found = re.search(_OUTPUT_TOO_LARGE, text)
    if not found:
        return False
    asked = next((int(digits) for digits in found.groups() if digits), None)
    return asked is None or (limit is not None and asked >= limit)
