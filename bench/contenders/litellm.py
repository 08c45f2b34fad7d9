"""litellm, with the loop by hand as in its documentation."""

import json

import litellm

from contenders import KEY, MODEL, SYSTEM, TOOL, lookup

DISTRIBUTIONS = ("litellm", "openai")


def connect(url):
    litellm.telemetry = False

    def complete(messages):
        response = litellm.completion(
            model=f"openai/{MODEL}", messages=messages, tools=[TOOL], api_base=url, api_key=KEY
        )
        return response.choices[0].message

    def ask(text, rounds):  # noqa: ARG001
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        while calls := (message := complete(messages)).tool_calls:
            messages.append(message)
            for call in calls:
                result = lookup(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return message.content

    return ask
