"""OpenAI's SDK, with the loop by hand as in its documentation."""

import json

from openai import OpenAI

from contenders import KEY, MODEL, SYSTEM, TOOL, lookup

DISTRIBUTIONS = ("openai",)


def connect(url):
    client = OpenAI(base_url=url, api_key=KEY)

    def complete(messages):
        return client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message

    def ask(text, rounds):  # noqa: ARG001
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        while calls := (message := complete(messages)).tool_calls:
            messages.append(message)
            for call in calls:
                result = lookup(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return message.content

    return ask
