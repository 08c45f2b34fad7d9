"""pydantic-ai's agent."""

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from contenders import KEY, MODEL, SYSTEM, lookup

DISTRIBUTIONS = ("pydantic-ai-slim",)


def connect(url):
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url, api_key=KEY))
    agent = Agent(model, system_prompt=SYSTEM, tools=[lookup])

    def ask(text, rounds):  # noqa: ARG001
        return agent.run_sync(text, usage_limits=UsageLimits(request_limit=None)).output

    return ask
