"""What a typed answer costs on the wire: requests and bytes of antiphon and of pydantic-ai for the same nested model.

Run it with the interpreter that runs antiphon; pydantic-ai lives in `.venv-bench` (see environment.py).
"""

from __future__ import annotations

import json
import subprocess
import sys

from environment import BENCH, PEERS, prepare, python, variables
from typed_model import ANSWER

from antiphon.cli.scripted_models import list_offered_tools
from antiphon.fakes import Answer, Call, Fake, Received

CONTENDERS = {"antiphon": None, "pydantic_ai": PEERS}
#: The names of the APIs, and the server of the fake that speaks each of them.
APIS = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "gemini"}
GOAL = 1.1


def answer(received: Received) -> Answer:
    """The order, by the one tool that there is; as text, where there is none."""
    names = list_offered_tools(received.body)
    assert len(names) <= 1, names
    return Answer(calls=[Call(names[0], ANSWER)]) if names else Answer(json.dumps(ANSWER))


def measure(name: str, api: str) -> tuple[int, int]:
    """The number of requests, and the bytes of their bodies together."""
    home = CONTENDERS[name]
    with Fake(answer) as fake:
        command = [python(home) if home else sys.executable, str(BENCH / "typed_client.py"), name, api]
        command.append(fake.base_url(APIS[api]))
        done = subprocess.run(command, env=variables(own=home is None), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stderr}")
        return len(fake.requests), sum(int(each.headers["content-length"]) for each in fake.requests)


def main() -> None:
    """Measure both and print a table."""
    prepare(PEERS)
    print("| | requests | bytes | times pydantic-ai |\n|---|---:|---:|---:|")
    for api in APIS:
        rows = {name: measure(name, api) for name in CONTENDERS}
        peer = rows["pydantic_ai"][1]
        for name, (requests, size) in rows.items():
            print(f"| {name.replace('_', '-')}, {api} | {requests} | {size:,} | {size / peer:.2f} |")
        ratio = rows["antiphon"][1] / peer
        is_met = ratio <= GOAL and rows["antiphon"][0] == 1
        print(f"{api}: goal of one request and at most {GOAL} times: {'met' if is_met else 'NOT met'}", file=sys.stderr)


if __name__ == "__main__":
    main()
