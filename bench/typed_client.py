"""One contender of typed.py in a process of its own, `typed_client.py NAME API URL`: asks once, checks the value."""

from __future__ import annotations

import sys
from typing import Any

from contenders import KEY
from typed_model import ANSWER, PROMPT, Order

#: A model of today for each API.
MODELS = {
    "chat": "gpt-5.5",
    "responses": "gpt-5.5",
    "anthropic": "claude-sonnet-5-5",
    "gemini": "gemini-3.8-flash",
}


def antiphon(api: str, url: str) -> Order:
    """By a session."""
    from antiphon import Session, connect

    names = {"chat": "openai-chat", "responses": "openai", "anthropic": "anthropic", "gemini": "google"}
    return Session(connect(f"{names[api]}/{MODELS[api]}", url=url, key=KEY)).do(PROMPT, returns=Order).value


def pydantic_ai(api: str, url: str) -> Order:
    """By an agent."""
    from pydantic_ai import Agent

    return Agent(_peer_model(api, url), output_type=Order).run_sync(PROMPT).output


def _peer_model(api: str, url: str) -> Any:
    if api == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(MODELS[api], provider=AnthropicProvider(base_url=url, api_key=KEY))
    if api == "gemini":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(MODELS[api], provider=GoogleProvider(base_url=url, api_key=KEY))
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIResponsesModel if api == "responses" else OpenAIChatModel
    return kind(MODELS[api], provider=OpenAIProvider(base_url=url, api_key=KEY))


if __name__ == "__main__":
    name, api, url = sys.argv[1:]
    found = globals()[name](api, url)
    assert found == Order.model_validate(ANSWER), found
