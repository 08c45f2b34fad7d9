"""One conversation, four APIs: tool calls made with one provider are answered and continued with the next.

Runs against the built-in fake, which speaks the real APIs and rejects what they reject. No key, no network.
"""

import tempfile
from pathlib import Path

from antiphon import Conversation, Model, ToolResult, ToolSpec
from antiphon.fakes import Answer, Fake, call
from antiphon.wire import CallDelta, TextDelta

WEATHER = ToolSpec(
    "weather",
    "The weather in a city now.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
READINGS = {"Oslo": "4 °C, rain", "Bergen": "7 °C, rain", "Tromsø": "-3 °C, snow"}
SCRIPT = [
    Answer("Let me look at both.", [call("weather", city="Oslo"), call("weather", city="Bergen")], "Two cities."),
    Answer("Rain in both: take a coat.", reasoning="Both are wet."),
    Answer("", [call("weather", city="Tromsø")], reasoning="A third city."),
    Answer("Snow in Tromsø: take boots as well.", reasoning="Cold there."),
]
MODELS = ("anthropic/claude-sonnet-5-5", "openai-chat/gpt-5.2", "openai/gpt-6-sol", "google/gemini-3.8-flash")


def main() -> None:
    conversation = Conversation("You help people pack.", [WEATHER])
    with Fake(SCRIPT) as fake:
        models = [fake.connect(name) for name in MODELS]
        tell("user", say(conversation, "What should I pack for Oslo and Bergen?"))
        turn(models[0], conversation)
        tell("@guide", say(conversation, "Bergen is wetter than it looks.", author="@guide"))
        turn(models[1], conversation)
        tell("user", say(conversation, "And Tromsø?"))
        turn(models[2], conversation)
        turn(models[3], conversation)
        print(f"\n{len(fake.requests)} requests to {len(models)} APIs:")
        for received in fake.requests:
            print(f"  {received.api:<17}{received.path:<57}{received.rejected or 'accepted'}")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "conversation.json"
        conversation.save(path)
        same = Conversation.load(path) == conversation
        print(f"\nSaved and loaded: {path.stat().st_size} bytes, {'nothing lost' if same else 'DIFFERENT'}.")


def say(conversation: Conversation, text: str, author: str | None = None) -> str:
    conversation.add_user(text, author)
    return text


def turn(model: Model, conversation: Conversation) -> None:
    """Ask once, streaming; run the tools that were asked for."""
    print(f"\n{model.name}")
    with model.stream(conversation) as stream:
        pieces = sum(isinstance(delta, TextDelta | CallDelta) for delta in stream)
    reply = stream.reply
    tell("thinks", reply.reasoning)
    tell("says", reply.text)
    results = [ToolResult(c.id, READINGS[c.arguments["city"]]) for c in reply.tool_calls]
    for made, result in zip(reply.tool_calls, results, strict=True):
        tell("calls", f"{made.name}({made.arguments['city']}) -> {result.text}")
    if results:
        reply.add_tool_results(results)
    usage = reply.usage
    tell("", f"[{pieces} pieces, {usage.input_tokens} tokens in, {usage.output_tokens} out, stop: {reply.stop}]")


def tell(who: str, text: str) -> None:
    if text:
        print(f"  {who:<8}{text}")


if __name__ == "__main__":
    main()
