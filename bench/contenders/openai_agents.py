"""The OpenAI Agents SDK, over chat completions, without tracing."""

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from contenders import KEY, MODEL, SYSTEM, lookup

DISTRIBUTIONS = ("openai-agents",)


def connect(url):
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel(MODEL, openai_client=AsyncOpenAI(base_url=url, api_key=KEY))
    agent = Agent("clerk", instructions=SYSTEM, model=model, tools=[function_tool(lookup)])

    def ask(text, rounds):
        return Runner.run_sync(agent, text, max_turns=rounds + 1).final_output

    return ask
