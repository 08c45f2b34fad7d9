"""How often the local models are right on our own sets, and whether every typed answer is valid.

python bench/local/run.py --model 0.5b --model 1.5b
python bench/local/run.py --model 0.5b --set loop --show
python bench/local/run.py --model 0.5b --validity 500
"""

from __future__ import annotations

import argparse
import atexit
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Literal

from typing_extensions import TypedDict

from antiphon import AntiphonError, Conversation, Session, connect
from antiphon.effects import Limits
from antiphon.local import ensure
from antiphon.tools import Tool, as_tool
from antiphon.tools.builtin import read_only_tools

HERE = Path(__file__).parent
SETS = ("extraction", "nested", "tools", "loop", "files", "questions")
#: Looked at once, when nothing is changed any more.
HELD_OUT = ("files-held-out", "files-unseen", "absent-held-out", "absent-copied")
_KINDS = {"text": str, "whole": int, "number": float, "boolean": bool, "texts": list[str]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", help="a tier or the path of a GGUF file; 0.5b if none is given")
    parser.add_argument("--set", action="append", choices=[*SETS, *HELD_OUT], help="only this set")
    parser.add_argument("--show", action="store_true", help="print what was wrong")
    parser.add_argument("--validity", type=int, metavar="N", help="generate N typed answers and count invalid ones")
    asked = parser.parse_args()
    for model in asked.model or ["0.5b"]:
        if not model.endswith(".gguf"):
            ensure(model)
        if asked.validity:
            from validity import invalid_answers

            print(f"local/{model}: {invalid_answers(model, asked.validity, asked.show)} of {asked.validity} invalid")
            continue
        print(f"| local/{model} | right | seconds |\n|---|---|---|")
        for name in asked.set or SETS:
            right, total, seconds = run(model, name, asked.show)
            print(f"| {name} | {right}/{total} | {seconds:.0f} |", flush=True)
            if name in FIELDS:
                told = ", ".join(f"{what} {good}/{count}" for what, (good, count) in FIELDS[name].items())
                print(f"  fields of {name}: {told}", flush=True)


def run(model: str, name: str, show: bool) -> tuple[int, int, float]:
    """How many items of a set a model gets right, of how many, in what time."""
    items, right, began = load(name), 0, time.monotonic()
    for item in items:
        try:
            got, good = JUDGES[name](model, item)
        except AntiphonError as error:
            got, good = error, False
        right += good
        if show and not good:
            print(f"  {item.get('text') or item.get('request') or item.get('question')}\n    -> {got}", file=sys.stderr)
    return right, len(items), time.monotonic() - began


def load(name: str) -> Any:
    """A data file beside this one."""
    name = "absent-held-out" if name == "absent-copied" else name
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


# The sets


def extraction(model: str, item: dict[str, Any]) -> tuple[Any, bool]:
    prompt = f"Extract the data from this text: {item['text']}"
    got = Session(f"local/{model}").do(prompt, returns=type_of(item["fields"])).value
    return got, same(got, item["want"])


#: Of records in which something is absent: how many fields were right, of how many, present and absent ones.
FIELDS: dict[str, dict[str, list[int]]] = {}


def absent(model: str, item: dict[str, Any], name: str = "absent-held-out") -> tuple[Any, bool]:
    prompt = f"Extract the data from this text: {item['text']}"
    options: dict[str, Any] = {"extra": {"values_from_text": True}} if name == "absent-copied" else {}
    got: Any = Session(f"local/{model}", **options).do(prompt, returns=type_of(item["fields"])).value
    counts = FIELDS.setdefault(name, {"present": [0, 0], "absent": [0, 0]})
    for field, want in item["want"].items():
        count = counts["absent" if want is None else "present"]
        count[0] += same(got[field], want)
        count[1] += 1
    return got, same(got, item["want"])


def copied(model: str, item: dict[str, Any]) -> tuple[Any, bool]:
    return absent(model, item, "absent-copied")


def tools(model: str, item: dict[str, Any]) -> tuple[Any, bool]:
    conversation = Conversation(tools=[toolbox_tool(name, []).spec for name in item["tools"]])
    conversation.add_user(item["request"])
    calls = connect(f"local/{model}").chat(conversation).tool_calls
    if not calls:
        return "(an answer)", not item["tool"]
    return calls[0], calls[0].name == item["tool"] and same(calls[0].arguments, item["arguments"])


def loop(model: str, item: dict[str, Any]) -> tuple[Any, bool]:
    given = [toolbox_tool(name, item["results"]) for name in item["tools"]]
    result = Session(f"local/{model}", tools=given, limits=Limits(requests=6)).vibe(item["request"])
    calls = [f"{kept.tool}({kept.args})" for kept in result.tool_calls]
    return (result.value, calls), bool(calls) and says(str(result.value), item["want"])


def files(model: str, item: dict[str, Any]) -> tuple[Any, bool]:
    session = Session(f"local/{model}", tools=read_only_tools(folder(item["folder"])), limits=Limits(requests=8))
    result = session.chat(item["request"])
    calls = [f"{kept.tool}({kept.args})" for kept in result.tool_calls]
    return (result.value, calls), bool(calls) == item.get("calls", True) and says(str(result.value), item["want"])


def questions(model: str, item: dict[str, Any]) -> tuple[Any, bool]:
    got = Session(f"local/{model}").chat(item["question"]).value
    return got, says(got, item["want"])


JUDGES: dict[str, Callable[[str, dict[str, Any]], tuple[Any, bool]]] = {
    "extraction": extraction,
    "nested": extraction,
    "tools": tools,
    "loop": loop,
    "files": files,
    "files-held-out": files,
    "files-unseen": files,
    "absent-held-out": absent,
    "absent-copied": copied,
    "questions": questions,
}


@cache
def folder(name: str) -> Path:
    """A copy of a folder beside this one that is a git repository of two commits."""
    # Not where git would find another repository around it.
    place = Path(tempfile.mkdtemp()) / name
    atexit.register(shutil.rmtree, place.parent)
    shutil.copytree(HERE / "folders" / name, place)
    git = ["git", "-C", str(place), "-c", "user.name=Wanda", "-c", "user.email=wanda@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    for files, message in ((["README.md"], "Begin"), (["."], "Read the table of ships")):
        subprocess.run([*git, "add", *files], check=True)
        subprocess.run([*git, "commit", "-q", "-m", message], check=True)
    return place


# Types, tools and what counts as the same


def type_of(fields: Any) -> Any:
    """The type that a data file's words describe."""
    if isinstance(fields, dict):
        return TypedDict("Answer", {name: type_of(kind) for name, kind in fields.items()})  # pyright: ignore
    if isinstance(fields, list):
        return list[type_of(fields[0])] if isinstance(fields[0], dict) else Literal[tuple(fields)]
    return _KINDS[fields] if fields in _KINDS else _KINDS[fields.removesuffix("?")] | None


def toolbox_tool(name: str, results: list[Any]) -> Tool:
    """A tool of the toolbox that answers the calls an item knows of."""
    known = load("toolbox")[name]

    def function(**given: Any) -> str:
        for called, arguments, result in results:
            if called == name and all(is_part(arguments[key], given.get(key)) for key in arguments):
                return result
        return "nothing found"

    kinds = {field: type_of(kind) for field, kind in known["fields"].items()}
    function.__annotations__ = kinds
    parameters = [Parameter(field, Parameter.KEYWORD_ONLY, annotation=kind) for field, kind in kinds.items()]
    function.__signature__ = Signature(parameters)  # pyright: ignore
    return as_tool(function, name=name, description=known["description"])


def is_part(wanted: Any, given: Any) -> bool:
    """Whether an argument is the wanted one, or a text that has it somewhere."""
    return wanted.casefold() in str(given).casefold() if isinstance(wanted, str) else wanted == given


def same(got: Any, want: Any) -> bool:
    """Whether a value is the wanted one; of a list of texts in place of a text, any will do."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(name in got and same(got[name], value) for name, value in want.items())
    if isinstance(want, list) and isinstance(got, list):
        return len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, list):
        return any(same(got, option) for option in want)
    if isinstance(want, str):
        return str(got).strip().strip("'\".").casefold() == want.casefold()
    return got == want


def says(text: str, want: list[str]) -> bool:
    """Whether a text has all of these, each of them in one of its spellings."""
    return all(any(spelling in text.casefold() for spelling in one.casefold().split("|")) for one in want)


if __name__ == "__main__":
    main()
