"""What structured tool calls cost in tokens, against the text placeholders they replace.

Counts the last request of several conversations with Mistral's tokenizers, which come inside the `mistral-common` wheel
and know the control tokens of tool calls. Needs no network once `.venv-bench` is there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from environment import PEERS, prepare, python, variables

SYSTEM = "You are the project manager of a small software team. Use the tools; ask the user when something is unclear."


# The old way: everything is text.


def go(value: Any) -> str:
    """A value as Go's `%v` prints it."""
    match value:
        case dict():
            return f"map[{' '.join(f'{key}:{go(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go, value))}]"
        case bool():
            return "true" if value else "false"
        case None:
            return "<nil>"
        case _:
            return str(value)


def placeholder(calls) -> str:
    """`[list_files(pattern="*")]`, as the project manager's history had it."""
    return " ".join(f"[{call.name}({', '.join(map(_parameter, call.arguments.items()))})]" for call in calls)


def bare_placeholder(calls) -> str:
    """`Tool list_files invoked`, as the coder's had it: the arguments are lost."""
    return f"Tool {', '.join(call.name for call in calls)} invoked"


def _parameter(item: tuple[str, Any]) -> str:
    name, value = item
    return f"{name}={json.dumps(value, ensure_ascii=False)}"


def flat(story, say_calls: Callable, write_result: Callable):
    """The conversation with placeholders for the calls, and the results as the user's text."""
    conversation = _conversation()
    for step in story.steps:
        if isinstance(step, tuple):
            conversation.add_assistant(say_calls(step))
            for call in step:
                conversation.add_user(write_result(call))
        else:
            _say(conversation, step)
    return conversation


# The new way: calls and results are structure.


def structured(story, write_result: Callable):
    """The conversation with its calls and results; `write_result` makes a result's text."""
    from antiphon import ToolCall, ToolResult

    conversation = _conversation()
    count = 0
    for step in story.steps:
        if isinstance(step, tuple):
            calls = [ToolCall(f"call{count + n:05d}", call.name, call.arguments) for n, call in enumerate(step)]
            pairs = zip(calls, step, strict=True)
            results = [ToolResult(call.id, write_result(done), done.is_error) for call, done in pairs]
            conversation.add_tool_calls_and_results(calls, results)
            count += len(step)
        else:
            _say(conversation, step)
    return conversation


def _conversation():
    from antiphon import Conversation

    return Conversation(SYSTEM)


def _say(conversation, step) -> None:
    (conversation.add_user if step.role == "user" else conversation.add_assistant)(step.text)


# The ways to write a result


def as_map(done) -> str:
    """As Go prints a map."""
    return go(done.data)


def as_json(done) -> str:
    """As JSON."""
    return json.dumps(done.data, separators=(",", ":"), ensure_ascii=False)


def as_text(done) -> str:
    """As one would write it for a reader."""
    return done.text or "(no output)"


WAYS = {
    "text, map": lambda story: flat(story, placeholder, as_map),
    "text, names only, map": lambda story: flat(story, bare_placeholder, as_map),
    "text, plain": lambda story: flat(story, placeholder, as_text),
    "structure, map": lambda story: structured(story, as_map),
    "structure, JSON": lambda story: structured(story, as_json),
    "structure, plain": lambda story: structured(story, as_text),
}
OLD = "text, map"


# Counting


def tokenizers(directory: Path) -> dict[str, Any]:
    """Version 3 as it is shipped, and version 13, which newer models use, on the shipped vocabulary."""
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    return {
        "v13 (no call ids in the prompt)": MistralTokenizer.from_file(str(_version_13(directory))),
        "v3 (calls and results as JSON with ids)": MistralTokenizer.v3(is_tekken=True),
    }


def _version_13(directory: Path) -> Path:
    """The wheel holds no file of version 13. The control tokens it adds count as one each, whatever their number is."""
    from mistral_common.tokens.tokenizers.base import SpecialTokens
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    data = json.loads((MistralTokenizer._data_path() / "tekken_240718.json").read_text())
    data["config"]["version"] = "v13"
    special = [dict(token) for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS]
    for name in (SpecialTokens.args, SpecialTokens.call_id):
        special.append({"rank": len(special), "token_str": name.value, "is_control": True})
    data["special_tokens"] = special
    path = directory / "tekken_v13.json"
    path.write_text(json.dumps(data))
    return path


def count(tokenizer, conversation, *, declare: bool) -> int:
    """The tokens of the request that antiphon would send to Mistral."""
    from conversations import tools
    from mistral_common.protocol.instruct.request import ChatCompletionRequest

    from antiphon import ToolSpec, connect

    conversation.tools = [ToolSpec(*tool) for tool in tools()] if declare else []
    body = json.loads(connect("mistral/mistral-large-latest", key="none").request(conversation))
    request = ChatCompletionRequest.from_openai(messages=body["messages"], tools=body.get("tools"))
    return len(tokenizer.encode_chat_completion(request).tokens)


def measure() -> dict[str, Any]:
    """Tokens by format, conversation, way, and with or without declarations."""
    from conversations import stories

    with tempfile.TemporaryDirectory() as directory:
        formats = tokenizers(Path(directory))
        return {
            name: {story.title: _counted(tokenizer, story) for story in stories()}
            for name, tokenizer in formats.items()
        }


def _counted(tokenizer, story) -> dict[str, dict[str, int]]:
    ways = {way: make(story) for way, make in WAYS.items()}
    return {
        "without": {way: count(tokenizer, made, declare=False) for way, made in ways.items()},
        "with": {way: count(tokenizer, made, declare=True) for way, made in ways.items()},
    }


# Printing


def tables(found: dict[str, Any]) -> str:
    """Two tables for each format: without and with the tools' declarations."""
    blocks = []
    for name, by_story in found.items():
        for key in ("without", "with"):
            blocks.append(f"### {name}, {key} declarations\n\n{_table(by_story, key)}")
    return "\n\n".join(blocks)


def _table(by_story: dict[str, Any], key: str) -> str:
    lines = [_line(["", *WAYS]), _line(["---"] + ["---:"] * len(WAYS))]
    total = dict.fromkeys(WAYS, 0)
    for title, counts in by_story.items():
        lines.append(_line([title, *_cells(counts[key])]))
        total = {way: total[way] + counts[key][way] for way in WAYS}
    return "\n".join([*lines, _line(["all", *_cells(total)])])


def _cells(counts: dict[str, int]) -> list[str]:
    old = counts[OLD]
    return [f"{n:,}" if way == OLD else f"{n:,} ({100 * (n - old) / old:+.1f} %)" for way, n in counts.items()]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _elsewhere() -> int:
    """Start again in the environment that has the tokenizer."""
    prepare(PEERS)
    return subprocess.run([python(PEERS), *sys.argv], env=variables(own=True)).returncode


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw numbers")
    options = parser.parse_args()
    if not find_spec("mistral_common"):
        raise SystemExit(_elsewhere())
    found = measure()
    print(tables(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
