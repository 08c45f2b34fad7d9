"""Rows whose requests wait for the batch API of a provider: half the price, no process, nothing lost or paid twice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import antiphon as library
from antiphon.durable import Journal
from antiphon.errors import ConfigurationError, OptionError
from antiphon.fakes import Answer, BatchPlan, Cite, Fake, Received, ServerCall, call, echo
from antiphon.fakes.vendors import ErrorReply
from tests.lang_unit.commands import antiphon

MODELS = ("claude-sonnet-5", "openai/gpt-6-sol", "openai-chat/gpt-5-mini", "google/gemini-4-argon")
Server = Callable[..., Fake]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with ExitStack() as stack:

        def start(script: Any = echo, **plan: Any) -> Fake:
            fake = stack.enter_context(Fake(script, batches=BatchPlan(**plan)))
            for name, api in (("ANTHROPIC", "anthropic"), ("OPENAI", "openai"), ("GOOGLE_GEMINI", "gemini")):
                monkeypatch.setenv(f"{name}_BASE_URL", fake.base_url(api))
            for name in ("ANTHROPIC", "OPENAI", "GEMINI"):
                monkeypatch.setenv(f"{name}_API_KEY", "sk-key")
            return fake

        yield start


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def program(model: str = MODELS[0], body: str = 'do "number {n}" m') -> str:
    return write("p.vibe", f'input n: number\nmodel m = {{ name: "{model}" }}\n{body}\n')


def rows(count: int = 3) -> str:
    return write("rows.csv", "n\n" + "".join(f"{n}\n" for n in range(1, count + 1)))


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def prices(found: Any) -> list[float]:
    return [each.cost for each in found]


@pytest.mark.parametrize("model", MODELS)
def test_rows_are_answered_in_one_batch_at_half_the_price(serve: Server, model: str):
    def answer(request: Received) -> Answer:
        return Answer(echo(request).text, usage=(1000, 100))

    fake, file = serve(answer), program(model)
    given = [{"n": n} for n in (1, 2, 3)]
    alone = list(library.map(file, given))
    assert [each.batch for each in fake.requests] == ["", "", ""]
    fake.requests.clear()
    found = list(library.map(file, given, batch=True))
    assert [each.value for each in found] == ["You said: number 1", "You said: number 2", "You said: number 3"]
    assert len({each.batch for each in fake.requests}) == 1
    assert "" not in {each.batch for each in fake.requests}
    assert prices(found) == pytest.approx([cost / 2 for cost in prices(alone)])
    assert [each.fallbacks for each in found] == [(), (), ()]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fate", ["errored", "expired", "missing"])
def test_what_a_batch_does_not_answer_is_sent_alone(serve: Server, model: str, fate: str):
    fake, file = serve(fates={"number 2": fate}), program(model)
    found = list(library.map(file, [{"n": n} for n in (1, 2, 3)], batch=True))
    assert [each.outcome for each in found] == ["done"] * 3
    assert [bool(each.batch) for each in fake.requests].count(False) == 1
    assert [bool(each.fallbacks) for each in found] == [False, True, False]
    assert "was sent alone at the usual price, for $" in found[1].fallbacks[0]
    assert found[1].cost == pytest.approx(2 * (found[0].cost or 0))


def test_a_row_may_forbid_that(serve: Server):
    fake, file = serve(fates={"number 2": "expired"}), program()
    found = list(library.map(file, [{"n": n} for n in (1, 2)], batch="only"))
    assert [each.outcome for each in found] == ["done", "failed"]
    assert "did not answer a request (expired); `--batch-only` forbids to send it alone" in found[1].error
    assert len(fake.requests) == 1


def test_tools_run_between_batches_and_each_round_is_one_batch(serve: Server):
    def script(request: Any) -> Any:
        text = json.dumps(request.body)
        return Answer("It is warm.") if "warm" in text else Answer(calls=[call("look", city="Oslo")])

    fake = serve(script)
    body = 'model m = { name: "claude-sonnet-5", tools: [look] }\nvibe "weather {n}?" m'
    file = write(
        "p.vibe",
        'input n: number\n// Look.\ntool look(city: text): text {\n  print("looks")\n  return "warm"\n}\n' + body,
    )
    found = list(library.map(file, [{"n": n} for n in (1, 2, 3)], batch=True))
    assert [each.value for each in found] == ["It is warm."] * 3
    batches = [each.batch for each in fake.requests]
    assert len(batches) == 6
    assert len(set(batches[:3])) == len(set(batches[3:])) == 1
    assert set(batches[:3]).isdisjoint(batches[3:])


def test_concurrent_requests_of_a_row_are_in_one_batch(serve: Server):
    fake = serve()
    file = program(body='let said: text[] = []\nasync for i in [1, 2, 3] {\n  do "part {i} of {n}" m\n}\n"over"')
    found = list(library.map(file, [{"n": n} for n in (1, 2)], batch=True))
    assert [each.value for each in found] == ["over", "over"]
    assert len(fake.requests) == 6
    assert len({each.batch for each in fake.requests}) == 1


def test_an_answer_that_pauses_is_continued_in_the_next_batch(serve: Server):
    search = ServerCall("web_search", {"query": "Oslo"}, sources=[Cite("https://example.com", "Oslo")])
    fake = serve([Answer("First, ", server_calls=[search], stop="pause"), "then."])
    found = list(library.map(program(), [{"n": 1}], batch=True))
    assert found[0].value == "First, then."
    assert len({each.batch for each in fake.requests}) == 2
    assert found[0].fallbacks == ()


def test_models_and_limits_divide_a_batch(serve: Server):
    fake = serve()
    text = "".join(f'model {name} = {{ name: "{each}" }}\n' for name, each in zip("abcd", MODELS, strict=True))
    calls = "\n".join(f'do "{name} {{n}}" {name}' for name in "abcd")
    file = write("p.vibe", f"input n: number\n{text}async for i in [1] {{\n{calls}\n}}\n")
    assert {each.outcome for each in library.map(file, [{"n": n} for n in (1, 2)], batch=True)} == {"done"}
    assert len({each.batch for each in fake.requests}) == 4


def test_the_process_ends_and_another_takes_the_answers(serve: Server, monkeypatch: pytest.MonkeyPatch):
    fake = serve(polls=3)
    ran = antiphon("run", program(), "--rows", rows(), "--batch")
    assert (ran.code, ran.out) == (3, "")
    waits = r"waits for the provider, 0 of 3 done, submitted \S+ ago to anthropic/claude-sonnet-5"
    assert re.search(waits, ran.err)
    monkeypatch.setenv("COLUMNS", "200")
    assert re.search(f"waiting .* 0 of 3 rows .* p.vibe: {waits}", antiphon("list").out)
    shown = antiphon("show", "last")
    assert re.search(waits, shown.out + shown.err)
    assert "batch of 3 requests to anthropic/claude-sonnet-5" in shown.out
    again = antiphon("resume", "last")
    assert (again.code, again.out, fake.requests) == (3, "", [])
    done = antiphon("resume", "last", "--wait")
    assert (done.code, [each["value"] for each in lines(done.out)]) == (0, [f"You said: number {n}" for n in (1, 2, 3)])
    assert len(fake.requests) == 3
    assert [each["outcome"] for each in lines(antiphon("resume", "last").out)] == ["done"] * 3
    assert len(fake.requests) == 3


def test_one_row_is_not_resumed_while_it_waits(serve: Server):
    serve(polls=100)
    antiphon("run", program(), "--rows", rows(), "--batch")
    row = json.loads(antiphon("list", "--in", "last", "--json").out)[0]["id"]
    refused = antiphon("resume", row)
    assert refused.code == 2
    assert "waits for a batch of the provider" in refused.err


@pytest.mark.parametrize("model", MODELS)
def test_stop_cancels_at_the_provider_and_resume_sends_again(serve: Server, model: str):
    fake = serve(polls=2)
    antiphon("run", program(model), "--rows", rows(), "--batch")
    stopped = antiphon("stop", "last")
    assert stopped.code == 0
    assert "1 batch cancelled at the provider" in stopped.err
    assert fake.requests == []
    done = antiphon("resume", "last", "--wait")
    assert (done.code, len(lines(done.out))) == (0, 3)
    assert [bool(each.batch) for each in fake.requests] == [True] * 3


@pytest.mark.parametrize("model", ["openai/gpt-6-sol", "google/gemini-4-argon"])
def test_a_batch_that_fails_as_a_whole_ends_the_session_and_pays_nothing(serve: Server, model: str):
    fake = serve(failure="The token limit of the organization is reached.")
    ran = antiphon("run", program(model), "--rows", rows(), "--batch", "--wait")
    assert ran.code == 1
    assert "The token limit of the organization is reached" in ran.err
    assert fake.requests == []


def test_a_refused_batch_is_told_and_is_sent_again(serve: Server):
    serve(refusal=ErrorReply("Your account has no batches.", 403))
    ran = antiphon("run", program(), "--rows", rows(), "--batch")
    assert (ran.code, ran.out) == (1, "")
    assert "anthropic refused a batch of 3 requests" in ran.err
    fake = serve()
    done = antiphon("resume", "last", "--wait")
    assert (done.code, len(fake.requests)) == (0, 3)


def test_a_provider_without_batches_is_refused_before_anything_runs(serve: Server):
    serve()
    ran = antiphon("run", program("mistral/mistral-large-latest"), "--rows", rows(), "--batch")
    assert ran.code == 2
    assert "mistral has no batch API that is known here; there are `anthropic`" in ran.err
    assert antiphon("list").code == 1
    with pytest.raises(OptionError, match="mistral has no batch API"):
        library.map("p.vibe", [{"n": 1}], batch=True).__next__()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--batch"], "`--batch` needs `--rows`"),
        (["--rows", "rows.csv", "--batch", "--no-save"], "`--no-save` and `--batch` exclude each other"),
        (["--rows", "rows.csv", "--batch", "--detach"], "`--detach` and `--batch` exclude each other"),
        (["--rows", "rows.csv", "--wait"], "`--wait` and `--rows` exclude each other without `--batch`"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], said: str):
    program()
    rows()
    ran = antiphon("run", "p.vibe", *options)
    assert (ran.code, said in ran.err) == (2, True), ran.err


def test_a_wrong_batch_is_a_mistake_of_the_caller():
    with pytest.raises(OptionError, match='`batch` is True, False or "only"'):
        library.map(program(), [{"n": 1}], batch="half").__next__()  # type: ignore[arg-type]


def test_a_database_of_workers_has_no_such_batches(serve: Server, monkeypatch: pytest.MonkeyPatch):
    serve()
    journal = Journal()
    monkeypatch.setattr(journal, "is_shared", True)
    with pytest.raises(ConfigurationError, match="need a database file"):
        library.map(program(), [{"n": 1}], batch=True, journal=journal).__next__()


def test_python_may_come_back_later(serve: Server):
    serve(polls=2)
    file, given = program(), [{"n": n} for n in (1, 2)]
    first = list(library.map(file, given, batch=True, wait=False, id="nightly"))
    assert [(each.outcome, each.is_sent) for each in first] == [("waiting", True)] * 2
    while (found := list(library.map(file, given, id="nightly", wait=False)))[0].is_sent:
        pass
    assert [each.value for each in found] == ["You said: number 1", "You said: number 2"]


def test_a_row_that_fails_on_the_way_does_not_lose_its_request(serve: Server, monkeypatch: pytest.MonkeyPatch):
    fake = serve(polls=1)
    antiphon("run", program(), "--rows", rows(1), "--batch")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    failed = antiphon("resume", "last", "--wait")
    assert failed.code != 0
    assert fake.requests == []
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-key")
    done = antiphon("resume", "last", "--wait")
    assert (done.code, len(fake.requests)) == (0, 1)


def test_the_cost_limit_counts_what_batches_cost(serve: Server):
    fake = serve()
    file = program(body='const a = do "number {n}" m\nconst b = do "again {n}" m\n[a, b]')
    ran = antiphon("run", file, "--rows", rows(2), "--batch", "--wait", "--max-cost", "0.00001")
    assert (ran.code, [each["outcome"] for each in lines(ran.out)]) == (4, ["limit", "limit"])
    # What was in a batch is paid for, so its answers are taken.
    assert all(each["cost"] for each in lines(ran.out))
    assert len(fake.requests) == 2
    again = antiphon("resume", "last", "--wait", "--max-cost", "1")
    assert [each["outcome"] for each in lines(again.out)] == ["done", "done"]
    assert len(fake.requests) == 4
