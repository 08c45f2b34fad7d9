"""The vendors' own SDKs take the batches of the fake for the real ones; what the real servers refuse is refused."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from antiphon.errors import OptionError
from antiphon.fakes import BatchPlan, Fake, echo
from tests.lazily import Lazily

anthropic, openai, genai = Lazily("anthropic"), Lazily("openai"), Lazily("google.genai")


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake(echo, batches=BatchPlan(polls=1, fates={"second": "expired", "third": "errored"})) as fake:
        yield fake


def ask(text: str) -> dict[str, Any]:
    return {"model": "claude-sonnet-5", "max_tokens": 100, "messages": [{"role": "user", "content": text}]}


def line(id: str, text: str, model: str = "gpt-6-sol", url: str = "/v1/responses") -> dict[str, Any]:
    return {"custom_id": id, "method": "POST", "url": url, "body": {"model": model, "input": text}}


class TestAnthropic:
    @pytest.fixture
    def batches(self, fake: Fake) -> Any:
        client = anthropic.Anthropic(base_url=fake.base_url("anthropic"), api_key="key", max_retries=0)
        return client.messages.batches

    def test_a_batch_from_its_beginning_to_its_results(self, batches: Any) -> None:
        texts = {"a": "first", "b": "second", "c": "third"}
        made = batches.create(requests=[{"custom_id": id, "params": ask(text)} for id, text in texts.items()])
        assert (made.processing_status, made.request_counts.processing) == ("in_progress", 3)
        assert batches.retrieve(made.id).processing_status == "in_progress"
        over = batches.retrieve(made.id)
        counts = over.request_counts
        assert (over.processing_status, counts.succeeded, counts.errored, counts.expired) == ("ended", 1, 1, 1)
        assert over.results_url
        assert [each.id for each in batches.list()] == [made.id]

    def test_results_are_json_lines(self, batches: Any, fake: Fake) -> None:
        import httpx2

        made = batches.create(requests=[{"custom_id": "a", "params": ask("first")}])
        place = f"{fake.url}/v1/messages/batches/{made.id}/results"
        assert httpx2.get(place, headers={"x-api-key": "key"}).status_code == 400
        batches.retrieve(made.id)
        batches.retrieve(made.id)
        (result,) = [json.loads(each) for each in httpx2.get(place, headers={"x-api-key": "key"}).text.splitlines()]
        assert result["custom_id"] == "a"
        assert result["result"]["message"]["content"][-1] == {"type": "text", "text": "You said: first"}

    def test_a_cancelled_batch_answers_nothing(self, batches: Any, fake: Fake) -> None:
        made = batches.create(requests=[{"custom_id": "a", "params": ask("first")}])
        assert batches.cancel(made.id).processing_status == "ended"
        assert batches.retrieve(made.id).request_counts.canceled == 1
        assert fake.requests == []

    @pytest.mark.parametrize(
        ("requests", "said"),
        [
            ([], "1 to 100000"),
            ([{"custom_id": "a b", "params": {}}], "pattern"),
            ([{"custom_id": "a", "params": {}}, {"custom_id": "a", "params": {}}], "unique"),
            ([{"custom_id": "a" * 65, "params": {}}], "pattern"),
            ([{"custom_id": "a"}], "Field required"),
            ([{"custom_id": "a", "params": {}, "more": 1}], "Extra inputs"),
        ],
    )
    def test_what_is_refused(self, batches: Any, requests: Any, said: str) -> None:
        with pytest.raises(anthropic.BadRequestError, match=said):
            batches.create(requests=requests)

    def test_a_wrong_request_is_an_error_of_its_own(self, batches: Any, fake: Fake) -> None:
        wrong = {**ask("x"), "stream": True}
        made = batches.create(requests=[{"custom_id": "a", "params": wrong}, {"custom_id": "b", "params": ask("y")}])
        batches.retrieve(made.id)
        assert batches.retrieve(made.id).request_counts.errored == 1
        assert [bool(each.rejected) for each in fake.requests] == [False, True]


class TestOpenAI:
    @pytest.fixture
    def client(self, fake: Fake) -> Any:
        return openai.OpenAI(base_url=fake.base_url("openai"), api_key="key", max_retries=0)

    def send(self, client: Any, lines: list[Any], endpoint: str = "/v1/responses", **more: Any) -> Any:
        content = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
        file = client.files.create(file=("batch.jsonl", content), purpose="batch")
        return client.batches.create(
            input_file_id=file.id, endpoint=endpoint, completion_window="24h", metadata={"name": "x"}, **more
        )

    def test_a_batch_from_its_beginning_to_its_results(self, client: Any) -> None:
        made = self.send(client, [line("a", "first"), line("b", "second"), line("c", "third")])
        assert (made.status, made.request_counts.total, made.metadata) == ("in_progress", 3, {"name": "x"})
        client.batches.retrieve(made.id)
        over = client.batches.retrieve(made.id)
        assert (over.status, over.request_counts.completed, over.request_counts.failed) == ("expired", 1, 2)
        (answer,) = [json.loads(each) for each in client.files.content(over.output_file_id).text.splitlines()]
        assert (answer["custom_id"], answer["response"]["status_code"]) == ("a", 200)
        assert answer["response"]["body"]["output"][-1]["content"][0]["text"] == "You said: first"
        failed = [json.loads(each) for each in client.files.content(over.error_file_id).text.splitlines()]
        assert {each["custom_id"]: each["error"]["code"] for each in failed} == {
            "b": "batch_expired",
            "c": "server_error",
        }
        assert [each.id for each in client.batches.list()] == [made.id]

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            ([line("a", "x"), line("b", "y", "gpt-5")], "several models"),
            ([line("a", "x"), line("a", "y")], "not unique"),
            ([line("a", "x", url="/v1/chat/completions")], "endpoint"),
            ([], "1 to 50000"),
        ],
    )
    def test_a_wrong_file_fails_the_batch_later(self, client: Any, lines: list[Any], said: str) -> None:
        made = self.send(client, lines)
        client.batches.retrieve(made.id)
        over = client.batches.retrieve(made.id)
        assert over.status == "failed"
        assert said in over.errors.data[0].message

    def test_what_is_refused(self, client: Any) -> None:
        with pytest.raises(openai.BadRequestError, match="No such File"):
            client.batches.create(input_file_id="file-x", endpoint="/v1/responses", completion_window="24h")
        with pytest.raises(openai.BadRequestError, match="Invalid value"):
            self.send(client, [line("a", "x")], "/v1/other")
        with pytest.raises(openai.BadRequestError, match="purpose"):
            client.files.create(file=("x.jsonl", io.BytesIO(b"{}")), purpose="other")

    def test_a_batch_is_cancelled(self, client: Any) -> None:
        made = self.send(client, [line("a", "first")])
        assert client.batches.cancel(made.id).status == "cancelled"


class TestGemini:
    @pytest.fixture
    def batches(self, fake: Fake) -> Any:
        options = genai.types.HttpOptions(base_url=fake.base_url("gemini"), api_version="v1beta")
        client = genai.Client(api_key="key", http_options=options)
        yield client.batches
        client.close()

    def test_a_batch_from_its_beginning_to_its_results(self, batches: Any) -> None:
        asked = [
            {"contents": [{"role": "user", "parts": [{"text": text}]}], "metadata": {"key": text}}
            for text in ("first", "second", "third")
        ]
        made = batches.create(model="gemini-4-argon", src=asked, config={"display_name": "mine"})
        assert (made.state.name, made.display_name) == ("JOB_STATE_RUNNING", "mine")
        batches.get(name=made.name)
        over = batches.get(name=made.name)
        assert over.state.name == "JOB_STATE_SUCCEEDED"
        found = {each.metadata["key"]: each for each in over.dest.inlined_responses}
        assert found["first"].response.text == "You said: first"
        assert found["second"].error.code == 4
        assert [each.name for each in batches.list()] == [made.name]

    def test_a_batch_is_cancelled(self, batches: Any) -> None:
        asked = [{"contents": [{"role": "user", "parts": [{"text": "first"}]}]}]
        made = batches.create(model="gemini-4-argon", src=asked)
        batches.cancel(name=made.name)
        assert batches.get(name=made.name).state.name == "JOB_STATE_CANCELLED"


def test_a_fate_that_there_is_not() -> None:
    with pytest.raises(OptionError, match="the fate of a request is one of errored"):
        BatchPlan(fates={"x": "lost"})  # type: ignore[dict-item]
