"""One contender of overhead.py in a process of its own; prints CPU seconds of the set-up and of one run."""

from __future__ import annotations

import asyncio
import json
import sys
from time import process_time

began = process_time()
COUNT = 300


def lookup(n: int) -> str:
    """Look a number up."""
    return f"the entry for {n}"


def antiphon():
    from antiphon import Session, ToolCall
    from antiphon.conversation import Text
    from antiphon.tools import as_tool
    from antiphon.wire import Reply, Usage

    class Model:
        name = "in-process"

        async def achat(self, conversation, **_):
            if getattr(conversation.turns[-1], "results", ()):
                reply = Reply((Text("done"),), "end", usage=Usage(10, 2))
            else:
                reply = Reply((ToolCall("c1", "lookup", {"n": 3}),), "tool_calls", usage=Usage(10, 2))
            conversation.add_reply(reply.parts)
            return reply

        def cost(self, _):
            return None

    model, tool = Model(), as_tool(lookup)

    async def run():
        result = await Session(model, [tool]).avibe("Look it up.")
        assert result == "done", result
        assert len(result.tool_calls) == 1

    return run


def pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    async def answer(messages, _info):
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("lookup", {"n": 3}, "c1")])

    agent = Agent(FunctionModel(answer), tools=[lookup])

    async def run():
        result = await agent.run("Look it up.")
        assert result.output == "done"

    return run


def openai_agents():
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class InProcess(Model):
        async def get_response(self, system_instructions, input, *_, **__):  # noqa: ARG002
            answered = isinstance(input, list) and any(i.get("type") == "function_call_output" for i in input)
            if answered:
                text = ResponseOutputText(text="done", type="output_text", annotations=[])
                item = ResponseOutputMessage(
                    id="m", content=[text], role="assistant", status="completed", type="message"
                )
            else:
                item = ResponseFunctionToolCall(arguments='{"n": 3}', call_id="c1", name="lookup", type="function_call")
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *_, **__):
            raise NotImplementedError

    agent = Agent(name="a", model=InProcess(), tools=[function_tool(lookup)])
    config = RunConfig(tracing_disabled=True)

    async def run():
        result = await Runner.run(agent, "Look it up.", run_config=config)
        assert result.final_output == "done"

    return run


async def main(make) -> None:
    run = make()
    for _ in range(20):
        await run()
    start = process_time()
    for _ in range(COUNT):
        await run()
    print(json.dumps({"run": (process_time() - start) / COUNT, "setup": start - began}))


if __name__ == "__main__":
    asyncio.run(main(globals()[sys.argv[1]]))
