"""No library but an HTTP client: the whole history as a list, through json.dumps, every turn."""

import json

from httpx2 import Client

from contenders import KEY, MODEL, SYSTEM, TOOL, lookup

DISTRIBUTIONS = ("httpx2",)


def connect(url):
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    client = Client(headers=headers, timeout=600, verify=False)

    def complete(messages):
        body = json.dumps({"model": MODEL, "messages": messages, "tools": [TOOL]})
        response = client.post(f"{url}/chat/completions", content=body)
        response.raise_for_status()
        return response.json()["choices"][0]["message"]

    def ask(text, rounds):  # noqa: ARG001
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        while calls := (message := complete(messages)).get("tool_calls"):
            messages.append(message)
            for call in calls:
                result = lookup(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        return message["content"]

    return ask
