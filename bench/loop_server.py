"""The server of loop.py: a fake of the Chat Completions API, in a process of its own.

Prints its address and serves until its input is closed. `loop_server.py MS` waits so many milliseconds before every
answer.
"""

from __future__ import annotations

import re
import sys

from contenders import answer

from antiphon.fakes import Answer, Call, Fake, Received


def step(received: Received) -> Answer:
    """A call, until there are as many results as the user asked for."""
    fake.requests.clear()
    messages = received.body["messages"]
    asked = int(re.search(r"\d+", str(next(m["content"] for m in messages if m["role"] == "user")))[0])
    done = sum(message["role"] == "tool" for message in messages)
    if done < asked:
        return Answer(calls=[Call("lookup", {"n": done})], delay=delay)
    return Answer(answer(asked), delay=delay)


if __name__ == "__main__":
    delay = float(sys.argv[1]) / 1000
    with Fake(step) as fake:
        print(fake.base_url("openai"), flush=True)
        sys.stdin.read()
