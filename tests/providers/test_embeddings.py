"""Embeddings of the providers, with the vendors' SDKs as referees of the fake."""

import asyncio
import json

import httpx2
import pytest
from google import genai
from openai import BadRequestError, OpenAI

from antiphon import aembed, connect, embed
from antiphon.errors import BadReply, OptionError, RateLimited, RequestRejected
from antiphon.fakes import Fake
from antiphon.providers import Retry

OPENAI, GEMINI = "openai/text-embedding-3-small", "google/gemini-embedding-001"
MODELS = [OPENAI, GEMINI, "mistral/mistral-embed", "ollama/nomic-embed-text"]


def similarity(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.fixture
def fake():
    with Fake() as fake:
        yield fake


def answering(*answers):
    """A transport that gives these answers in order, and the requests that it got."""
    requests, left = [], list(answers)

    def answer(request):
        requests.append(json.loads(request.content))
        status, body = left.pop(0)
        return httpx2.Response(status, json=body)

    return httpx2.MockTransport(answer), requests


@pytest.mark.parametrize("model", MODELS)
def test_similar_texts_have_similar_vectors(fake, model):
    made = fake.connect(model).embed(["a cat sat", "the cat sat", "stock market"])
    assert len(made) == 3
    assert similarity(made[0], made[1]) > similarity(made[0], made[2])
    assert made.model == model


@pytest.mark.parametrize("model", MODELS)
def test_many_texts_keep_their_order(fake, model):
    texts = [f"text {number}" for number in range(2500)]
    made = fake.connect(model).embed(texts)
    assert len(made) == 2500
    assert made[2499] == fake.connect(model).embed(["text 2499"])[0]
    sizes = [len(each.body.get("input") or each.body["requests"]) for each in fake.requests]
    assert max(sizes) <= (100 if model == GEMINI else 2048)


def test_a_request_is_bounded_by_its_bytes(fake):
    texts = ["ä" * 50_000, "b" * 250_000, "c" * 400_000, "d"]
    assert len(fake.connect(OPENAI).embed(texts)) == 4
    assert [[text[0] for text in each.body["input"]] for each in fake.requests] == [["ä"], ["b"], ["c"], ["d"]]


def test_no_texts_need_no_request(fake):
    made = fake.connect(OPENAI).embed([])
    assert list(made) == []
    assert made.usage.input_tokens == 0
    assert fake.requests == []


@pytest.mark.parametrize(
    ("model", "field"),
    [(OPENAI, "dimensions"), (GEMINI, "outputDimensionality"), ("mistral/codestral-embed", "output_dimension")],
)
def test_the_number_of_dimensions_is_asked_for_in_the_words_of_the_provider(fake, model, field):
    made = fake.connect(model).embed(["a cat"], dimensions=64)
    assert len(made[0]) == 64
    body = fake.requests[0].body
    assert {**body, **body.get("requests", [{}])[0]}[field] == 64


def test_more_fields_are_sent_as_they_are(fake):
    fake.connect(GEMINI).embed(["a cat"], extra={"taskType": "RETRIEVAL_QUERY"})
    assert fake.requests[0].body["requests"][0]["taskType"] == "RETRIEVAL_QUERY"


def test_usage_and_cost_are_those_of_all_requests(fake):
    made = fake.connect(OPENAI).embed(["one word"] * 3000)
    assert made.usage.input_tokens == 6000
    assert made.cost == pytest.approx(6000 * 0.02 / 1_000_000)
    assert fake.connect(GEMINI).embed(["one word"]).usage.input_tokens is None


def test_the_short_form_connects_and_closes(fake):
    settings = {"url": fake.base_url("openai"), "key": "fake"}
    made = embed(["a cat"], OPENAI, **settings)
    assert asyncio.run(aembed(["a cat"], OPENAI, dimensions=None, **settings)).vectors == made.vectors


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        ("one text", {}, "list of texts"),
        (["a", ""], {}, "text 2 is ''"),
        (["a", " \n"], {}, "text 2"),
        (["a", None], {}, "text 2 is None"),
        (["a"], {"dimensions": 0}, "`dimensions` is a number from 1, not 0"),
        (["a"], {"dimensions": True}, "`dimensions`"),
    ],
)
def test_what_no_provider_takes_is_refused_before_it_is_sent(fake, texts, options, said):
    with pytest.raises(OptionError, match=said):
        fake.connect(OPENAI).embed(texts, **options)
    assert fake.requests == []


def test_a_provider_without_embeddings_names_others(fake):
    with pytest.raises(
        OptionError, match="anthropic has no embedding models; there are `openai/text-embedding-3-small`"
    ):
        fake.connect("anthropic/claude-sonnet-5-5").embed(["a"])


def test_a_rejection_has_the_words_of_the_provider(fake):
    with pytest.raises(RequestRejected, match="Invalid value for 'dimensions': 5000"):
        fake.connect(OPENAI).embed(["a"], dimensions=5000)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": []},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": [1, "x"]}]},
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]},
    ],
)
def test_an_answer_without_a_vector_for_each_text_is_an_error(body):
    transport, _ = answering((200, body))
    with pytest.raises(BadReply, match="openai"):
        connect(OPENAI, key="k", transport=transport).embed(["a"])


def test_vectors_are_put_into_the_order_of_the_texts():
    rows = [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]
    transport, _ = answering((200, {"data": rows, "usage": {"prompt_tokens": 2}}))
    assert connect(OPENAI, key="k", transport=transport).embed(["a", "b"]).vectors == ((1.0,), (2.0,))


def test_a_busy_server_is_asked_again():
    busy, good = (429, {"error": {"message": "slow down"}}), (200, {"data": [{"index": 0, "embedding": [1]}]})
    transport, requests = answering(busy, good)
    model = connect(OPENAI, key="k", transport=transport, retry=Retry(first_wait=0.001))
    assert model.embed(["a"])[0] == (1.0,)
    assert len(requests) == 2
    transport, _ = answering(busy, busy)
    with pytest.raises(RateLimited, match="slow down"):
        connect(OPENAI, key="k", transport=transport, retry=Retry(attempts=2, first_wait=0.001)).embed(["a"])


def test_a_key_is_not_in_the_error_of_a_server_that_repeats_it():
    transport, _ = answering((400, {"error": {"message": "bad key sk-abcdefgh12345678"}}))
    with pytest.raises(RequestRejected) as refused:
        connect(OPENAI, key="sk-abcdefgh12345678", transport=transport).embed(["a"])
    assert "sk-abcdefgh12345678" not in str(refused.value)


def test_openais_sdk_gets_the_same_vectors(fake):
    client = OpenAI(api_key="k", base_url=fake.base_url("openai"))
    theirs = client.embeddings.create(model="text-embedding-3-small", input=["a cat", "a dog"], dimensions=32)
    ours = fake.connect(OPENAI).embed(["a cat", "a dog"], dimensions=32)
    # The SDK asks for 32-bit numbers.
    for one, other in zip(theirs.data, ours, strict=True):
        assert one.embedding == pytest.approx(other, abs=1e-6)
    assert theirs.usage.prompt_tokens == ours.usage.input_tokens
    with pytest.raises(BadRequestError, match="input"):
        client.embeddings.create(model="text-embedding-3-small", input=[""])


def test_googles_sdk_gets_the_same_vectors(fake):
    options = genai.types.HttpOptions(base_url=fake.base_url("gemini"))
    client = genai.Client(api_key="k", http_options=options)
    theirs = client.models.embed_content(model="gemini-embedding-001", contents=["a cat", "a dog"])
    ours = fake.connect(GEMINI).embed(["a cat", "a dog"])
    assert [tuple(each.values) for each in theirs.embeddings] == list(ours)
