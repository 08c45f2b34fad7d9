"""Antiphon: the conversation is kept, and each turn is encoded once."""

from antiphon import Conversation, ToolSpec
from antiphon import connect as connect_model
from contenders import DESCRIPTION, KEY, MODEL, PARAMETERS, SYSTEM, lookup

DISTRIBUTIONS = ("antiphon",)
TOOLS = (ToolSpec("lookup", DESCRIPTION, PARAMETERS),)


def connect(url):
    model = connect_model(f"openai-chat/{MODEL}", url=url, key=KEY)

    def ask(text, rounds):  # noqa: ARG001
        conversation = Conversation(SYSTEM, TOOLS)
        conversation.add_user(text)
        while (reply := model.chat(conversation)).tool_calls:
            for call in reply.tool_calls:
                reply.add_tool_result(call.id, lookup(**call.arguments))
        return reply.text

    return ask
