"""The model in this process: that everything about it works, not how clever the smallest one is."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from antiphon import Conversation, Model, Session, ToolCall, ToolSpec, connect
from antiphon.effects import Limits
from antiphon.errors import ConfigurationError, ContextOverflow, OptionError, WeightsError
from antiphon.local.engine import LocalEngine, get_engine
from antiphon.local.prompt_template import LocalPrompt
from antiphon.local.weights import ensure
from antiphon.session import ReturnError
from antiphon.wire import CallDelta, TextDelta

WEATHER = ToolSpec(
    "weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@pytest.fixture(scope="module")
def path() -> Path:
    return ensure("135m")


@pytest.fixture(autouse=True)
def cache(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is kept goes elsewhere, once the weights have been found."""
    assert path.exists()
    monkeypatch.setenv("ANTIPHON_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def model(path: Path) -> Model:
    return connect(f"local/{path}")


def asking(text: str, *tools: ToolSpec) -> Conversation:
    conversation = Conversation(tools=tools)
    conversation.add_user(text)
    return conversation


# Talking


def test_an_answer_joins_the_conversation_with_its_usage_and_costs_nothing(model: Model):
    conversation = asking("Say hello.")
    reply = model.chat(conversation, max_tokens=8)
    assert reply.text.strip()
    assert conversation.turns[-1].text == reply.text
    assert reply.usage.input_tokens
    assert reply.usage.output_tokens
    assert model.cost(reply.usage) == 0.0
    assert reply.stop in ("end", "length")


def test_a_stream_comes_token_by_token_and_ends_as_the_whole_answer(model: Model):
    conversation = asking("Write a long story.")
    with model.stream(conversation, max_tokens=12) as stream:
        texts = [delta.text for delta in stream if isinstance(delta, TextDelta)]
    assert len(texts) > 3
    assert "".join(texts) == stream.reply.text
    assert stream.reply.stop == "length"


def test_the_same_question_gets_the_same_answer(model: Model):
    first, second = (model.chat(asking("Name a color."), max_tokens=10).text for _ in range(2))
    assert first == second


def test_a_stop_text_ends_the_answer(model: Model):
    whole = model.chat(asking("Count from one to ten."), max_tokens=16).text
    word = whole.split()[3]
    assert word not in model.chat(asking("Count from one to ten."), max_tokens=16, stop=word).text


def test_a_conversation_begun_elsewhere_goes_on_here(model: Model):
    conversation = asking("What is the weather in Oslo and in Rome?", WEATHER)
    conversation.add_assistant_tool_calls(
        [ToolCall("a", "weather", {"city": "Oslo"}), ToolCall("b", "weather", {"city": "Rome"})]
    )
    conversation.add_tool_result("a", "rain")
    conversation.add_tool_result("b", "no answer", is_error=True)
    assert model.chat(conversation, tool_choice="none", max_tokens=24).text
    assert conversation.ready().reason


def test_the_request_can_be_looked_at_without_sending_it(model: Model):
    body = json.loads(model.request(asking("Hello?", WEATHER)))
    assert body["messages"][-1]["content"] == "Hello?"
    assert body["tools"][0]["function"]["name"] == "weather"


def test_a_recorded_exchange_is_answered_without_the_model(path: Path, tmp_path: Path):
    file = tmp_path / "exchanges.jsonl"
    said = connect(f"local/{path}", record=file).chat(asking("Hello."), max_tokens=4).text
    assert connect(f"local/{path}", replay=file).chat(asking("Hello."), max_tokens=4).text == said


# Tools


def test_a_required_call_streams_its_name_first_and_then_its_arguments(model: Model):
    other = ToolSpec("clock", "The time.", {"type": "object", "properties": {"zone": {"enum": ["here", "there"]}}})
    conversation = asking("What is the weather in Oslo?", WEATHER, other)
    with model.stream(conversation, tool_choice="required") as stream:
        deltas = [delta for delta in stream if isinstance(delta, CallDelta)]
    (call,) = stream.reply.tool_calls
    assert deltas[0].name == call.name in ("weather", "clock")
    assert json.loads("".join(delta.arguments for delta in deltas)) == call.arguments
    assert stream.reply.stop == "tool_calls"
    assert call.problem is None


def test_a_named_tool_is_the_one_that_is_called(model: Model):
    other = ToolSpec("clock", "The time.", {"type": "object", "properties": {}})
    for choice in ("clock", "weather"):
        reply = model.chat(asking("What is the weather in Oslo?", WEATHER, other), tool_choice=choice)
        assert [call.name for call in reply.tool_calls] == [choice]


def test_where_no_call_is_allowed_the_answer_streams_as_text(model: Model):
    conversation = asking('Say "hi" and a new\nline.', WEATHER)
    with model.stream(conversation, tool_choice="none", max_tokens=40) as stream:
        texts = [delta.text for delta in stream if isinstance(delta, TextDelta)]
    assert len(texts) > 1
    assert not stream.reply.text.startswith("{")


def test_a_session_runs_the_loop_to_an_end(path: Path):
    def lookup(word: str) -> str:
        """Look up a word."""
        return f"{word} means nothing"

    result = Session(f"local/{path}", tools=[lookup], limits=Limits(requests=4), max_tokens=60).do(
        "Look up 'frabjous'."
    )
    assert result.run.conversation.open_calls == ()
    assert result.run.cost == 0.0
    assert result.run.model == f"local/{path}"


# Typed answers


class Place(BaseModel):
    name: str = Field(max_length=12)
    kind: Literal["city", "river"]


class Trip(BaseModel):
    title: str = Field(max_length=20)
    places: list[Place] = Field(min_length=1, max_length=2)
    nights: int | None = None
    paid: bool = False
    price: Annotated[float, Field(ge=0, le=500)]


def test_typed_answers_are_valid_by_construction(path: Path):
    result = Session(f"local/{path}", attempts=0).do("Two nights in Bonn at the Rhine for 80 euros.", returns=Trip)
    assert isinstance(result.value, Trip)


@pytest.mark.parametrize("returns", [int, bool, Literal["yes", "no"], list[Literal[1, 2]]])
def test_a_single_value_comes_at_the_first_try(path: Path, returns: Any):
    value = Session(f"local/{path}", attempts=0).do("Is one less than two?", returns=returns).value
    TypeAdapter(returns).validate_python(value)


def test_a_typed_answer_that_does_not_fit_into_the_limit_is_an_error(path: Path):
    with pytest.raises(ReturnError, match="token limit"):
        Session(f"local/{path}", attempts=0, max_tokens=3).do("A trip to Bonn.", returns=Trip)


def test_a_schema_that_cannot_be_followed_is_refused_in_words(model: Model):
    with pytest.raises(OptionError, match="Nowhere"):
        model.chat(asking("Hello."), output_schema={"$ref": "#/$defs/Nowhere"})


# Stopping, sharing, limits


def generating() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "antiphon-local"]


def seen_to_stop(threads: list[threading.Thread]) -> bool:
    # Left alone, what was begun would go on until the context is full: for minutes.
    for thread in threads:
        thread.join(60)
    return bool(threads) and not any(thread.is_alive() for thread in threads)


def test_a_stream_left_early_leaves_conversation_and_model_as_they_were(model: Model):
    conversation = asking("Write a very long story.")
    with model.stream(conversation, max_tokens=8000) as stream:
        next(iter(stream))
        begun = generating()
    assert seen_to_stop(begun)
    assert len(conversation.turns) == 1
    assert model.chat(asking("Hello."), max_tokens=2).text


def test_a_cancelled_task_stops_the_model(model: Model):
    async def run() -> None:
        task = asyncio.create_task(model.achat(asking("Write a very long story."), max_tokens=8000))
        while not (begun := generating()):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen_to_stop(begun)
        assert (await model.achat(asking("Hello."), max_tokens=2)).text

    asyncio.run(run())


def test_an_asynchronous_stream_left_early_stops_the_model(model: Model):
    async def run() -> None:
        async with model.astream(asking("Write a very long story."), max_tokens=8000) as stream:
            async for _ in stream:
                break
            begun = generating()
        assert seen_to_stop(begun)

    asyncio.run(run())


def test_many_at_once_share_one_loaded_model(path: Path):
    async def run() -> list[str]:
        models = [connect(f"local/{path}") for _ in range(4)]
        replies = [asked.achat(asking(f"Say {n}."), max_tokens=4) for n, asked in enumerate(models)]
        return [reply.text for reply in await asyncio.gather(*replies)]

    assert all(asyncio.run(run()))
    assert get_engine(path) is get_engine(Path(path.parent, ".", path.name))


def test_a_conversation_that_is_too_long_says_both_sizes_and_can_be_compacted(model: Model):
    conversation = asking("word " * 9000)
    conversation.add_assistant("Yes?")
    conversation.add_user("What did I say?")
    with pytest.raises(ContextOverflow, match="of which 8,192 fit") as caught:
        model.chat(conversation)
    assert caught.value.tokens is not None
    assert caught.value.tokens > 9000
    assert caught.value.limit == 8192


def test_ten_megabytes_are_refused_without_counting(model: Model):
    conversation = asking("0123456789" * 1_000_000)
    # Of what is counted, the number is known and not a least one.
    with pytest.raises(ContextOverflow, match="at least"):
        model.chat(conversation)


def test_tokens_are_counted_as_the_model_counts_them(model: Any):
    assert model.count_tokens("") == 0
    assert model.count_tokens("Hello world") == 2
    assert model.count_tokens("Hello world " * 3000) > 6000


# Names and files


def test_names_are_tiers_or_files():
    assert connect("local").name == "local/0.5b"
    assert connect("local/1.5B").name == "local/1.5b"
    known = connect("local/135m").facts
    assert (known.parallel, known.schema, known.context) == ("no", "yes", 8192)
    with pytest.raises(ConfigurationError, match=r"no file 'no/such\.gguf'"):
        connect("local/no/such.gguf")
    with pytest.raises(WeightsError, match=r"did you mean '0\.5b'"):
        connect("0.5g", provider="local")


def _damaged(kind: str, path: Path, target: Path) -> None:
    whole = path.read_bytes()
    if kind == "foreign":
        whole = b"PK" + whole[2:1000]
    elif kind == "cut in the header":
        whole = whole[:100_000]
    elif kind == "cut in the weights":
        whole = whole[: len(whole) // 2]
    else:
        # Same length, so that the rest of the header stays in place.
        whole = whole.replace(
            b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama",
            b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0klama",
            1,
        )
    target.write_bytes(whole)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("foreign", "is no GGUF file"),
        ("cut in the header", "cut short or damaged"),
        ("cut in the weights", "cut short or damaged"),
        ("unknown", "its architecture is 'klama'"),
    ],
)
def test_a_file_that_is_no_good_is_named_with_the_reason(path: Path, tmp_path: Path, kind: str, said: str):
    file = tmp_path / "model.gguf"
    _damaged(kind, path, file)
    with pytest.raises(ConfigurationError, match=said):
        connect(f"local/{file}").chat(asking("Hello."))


@pytest.mark.parametrize(
    "value",
    [
        b"general.alignment\x08\0\0\0\x03\0\0\0\0\0\0\0odd",
        b"general.alignment\x09\0\0\0" + b"\x09\0\0\0\x01\0\0\0\0\0\0\0" * 5000,
        b"general.alignment\x05\0\0\0\xe0\xff\xff\xff",
    ],
    ids=["a text for a number", "lists in lists", "less than nothing"],
)
def test_a_header_that_makes_no_sense_is_told_and_never_a_crash(tmp_path: Path, value: bytes):
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF\3\0\0\0" + bytes(8) + b"\1" + bytes(7) + b"\x11" + bytes(7) + value)
    with pytest.raises(ConfigurationError, match="damaged"):
        connect(f"local/{file}").chat(asking("Hello."))


_QUIET = """
import sys
from pathlib import Path
from antiphon import Conversation, connect
conversation = Conversation()
conversation.add_user("Hello.")
connect(f"local/{sys.argv[1]}").chat(conversation, max_tokens=2)
ports = [line.split() for name in ("tcp", "tcp6") if (file := Path(f"/proc/self/net/{name}")).exists()
         for line in file.read_text().splitlines()[1:]]
links = {str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()} if ports else set()
print([port for port in ports if f"socket:[{port[9]}]" in links])
"""

_INTERRUPTED = """
import sys
from antiphon import Conversation, connect
model, conversation = connect(f"local/{sys.argv[1]}"), Conversation()
conversation.add_user("Write a very long story.")
try:
    with model.stream(conversation) as stream:
        for delta in stream:
            print("begun", flush=True)
except KeyboardInterrupt:
    print(len(conversation.turns), bool(model.chat(conversation, max_tokens=2).text), flush=True)
"""

_FORKED = """
import os, sys
from antiphon import Session
said = [str(Session(f"local/{sys.argv[1]}").chat("Hello."))]
for uses_it in (False, True):
    if not (child := os.fork()):
        sys.exit(7 + (uses_it and str(Session(f"local/{sys.argv[1]}").chat("Hello.")) == said[0]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

_MISSING = """
import sys
sys.modules["xllamacpp"] = None
from antiphon import Session
try:
    Session(f"local/{sys.argv[1]}").do("Hello.")
except Exception as error:
    print(type(error).__name__, error)
"""


def _run(program: str, path: Path) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60)
    return done.stdout.strip(), done.stderr.strip()


def test_nothing_of_the_runtime_reaches_the_terminal_and_no_port_is_open(path: Path):
    assert _run(_QUIET, path) == ("[]", "")


def test_ctrl_c_stops_the_model_and_leaves_it_usable(path: Path):
    command = [sys.executable, "-c", _INTERRUPTED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (out.splitlines()[-1], err) == ("1 True", "")


def test_a_forked_process_loads_its_own_model_and_ends_as_it_wants_to(path: Path):
    assert _run(_FORKED, path) == ("7\n8", "")


def test_without_the_runtime_the_command_that_installs_it_is_told(path: Path):
    out, _ = _run(_MISSING, path)
    assert out.startswith("ConfigurationError")
    assert "pip install 'antiphon[local]'" in out


def test_without_the_runtime_no_weights_are_fetched(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ConfigurationError, match="needs the package `xllamacpp`"):
        Session("local/1.5b").do("Hello.")
    assert not cache.exists()


# What was read before


def test_an_opening_is_read_once_and_not_again_by_the_next_process(path: Path, cache: Path):
    opening = [{"role": "system", "content": "Be brief and kind. " * 60}]
    request = {"messages": [*opening, {"role": "user", "content": "Hi"}], "max_tokens": 2, "temperature": 0}
    asked = LocalPrompt({**request, "stream": True, "stream_options": {"include_usage": True}}, "text", opening=opening)

    def answered() -> tuple[str, int]:
        pieces: list[Any] = []
        one = LocalEngine(path)
        one.begin(asked, pieces.append).thread.join()
        one.close()
        chunks = [piece for piece in pieces if piece and "prompt_progress" not in piece]
        text = "".join(c["delta"].get("content") or "" for chunk in chunks for c in chunk["choices"])
        return text, chunks[-1]["usage"]["prompt_tokens_details"]["cached_tokens"]

    first, _ = answered()
    (file,) = (cache / "openings").iterdir()
    read = file.stat().st_mtime_ns
    again, cached = answered()
    assert (again, cached > 200, file.stat().st_mtime_ns > read) == (first, True, True)
    file.write_bytes(file.read_bytes()[:5000])
    assert answered()[0] == first
