"""One contender of typed.py in a process of its own, `typed_client.py NAME API URL`: asks once, checks the value."""

from __future__ import annotations

import sys

from contenders import KEY, MODEL
from typed_model import ANSWER, PROMPT, Order


def antiphon(api: str, url: str) -> Order:
    """By a session."""
    from antiphon import Session, connect

    provider = "openai" if api == "responses" else "openai-chat"
    return Session(connect(f"{provider}/{MODEL}", url=url, key=KEY)).do(PROMPT, returns=Order).value


def pydantic_ai(api: str, url: str) -> Order:
    """By an agent."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIResponsesModel if api == "responses" else OpenAIChatModel
    agent = Agent(kind(MODEL, provider=OpenAIProvider(base_url=url, api_key=KEY)), output_type=Order)
    return agent.run_sync(PROMPT).output


if __name__ == "__main__":
    name, api, url = sys.argv[1:]
    found = globals()[name](api, url)
    assert found == Order.model_validate(ANSWER), found
