"""The vendors' own clients of Bedrock, Vertex AI and Azure take the fake for the real thing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon.fakes import Answer, Fake, call
from tests.lazily import Lazily

anthropic, openai, genai = Lazily("anthropic"), Lazily("openai"), Lazily("google.genai")
boto3 = Lazily("boto3")

QUESTION = {"role": "user", "content": "Weather?"}
TOOLS = [{"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]
CLAUDE: dict[str, Any] = {"max_tokens": 100, "messages": [QUESTION], "tools": TOOLS}
TWO = Answer("Both.", calls=[call("weather", city="Oslo")])


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))


def make_bedrock(fake: Fake, lifetime: float = 3600, **changes: str) -> Any:
    keys = fake.identity.issue_aws_keys(lifetime)
    given = {
        "aws_access_key": keys.access_key,
        "aws_secret_key": keys.secret_key,
        "aws_session_token": keys.token,
        "aws_region": "us-east-1",
    }
    return anthropic.AnthropicBedrock(base_url=fake.base_url("bedrock"), max_retries=0, **given | changes)


def make_vertex(fake: Fake, token: str) -> Any:
    return anthropic.AnthropicVertex(
        base_url=fake.base_url("vertex") + "/v1",
        project_id="p",
        region="global",
        access_token=token,
        max_retries=0,
    )


CLIENTS = {
    "bedrock": (make_bedrock, "us.anthropic.claude-sonnet-4-6"),
    "vertex": (lambda fake: make_vertex(fake, fake.identity.issue_google_token()), "claude-sonnet-4-6"),
}


@pytest.fixture(params=CLIENTS)
def asked(request: pytest.FixtureRequest, fake: Fake) -> tuple[Any, str]:
    make, model = CLIENTS[request.param]
    return make(fake), model


def test_claude_answers(asked: tuple[Any, str], fake: Fake) -> None:
    client, model = asked
    fake.play(TWO, "Wet.")
    message = client.messages.create(model=model, **CLAUDE)
    assert [block.type for block in message.content] == ["text", "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": message.content[-1].id, "content": "rain"}]
    history = [QUESTION, {"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    assert client.messages.create(model=model, **CLAUDE | {"messages": history}).content[0].text == "Wet."


def test_claude_streams(asked: tuple[Any, str], fake: Fake) -> None:
    client, model = asked
    fake.play(TWO)
    with client.messages.stream(model=model, **CLAUDE) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    assert text == "Both."
    assert message.content[-1].input == {"city": "Oslo"}
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"aws_secret_key": "x" * 40}, "The request signature we calculated does not match"),
        ({"aws_access_key": "ASIAXXXXXXXXXXXXXXXX"}, "The security token included in the request is invalid"),
        ({"lifetime": -1}, "The security token included in the request is expired"),
    ],
)
def test_a_wrong_signature_of_aws(fake: Fake, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(anthropic.PermissionDeniedError, match=words):
        make_bedrock(fake, **changes).messages.create(model="anthropic.claude-sonnet-4-6", **CLAUDE)


def test_the_messages_endpoint_of_bedrock(fake: Fake) -> None:
    fake.play("Hello.", "Hello again.")
    client = anthropic.Anthropic(base_url=f"{fake.base_url('bedrock')}/anthropic", api_key="a-key", max_retries=0)
    asked = {"model": "us.anthropic.claude-sonnet-5-5", "max_tokens": 9, "messages": [QUESTION]}
    assert client.messages.create(**asked).content[-1].text == "Hello."
    with client.messages.stream(**asked) as stream:
        assert "".join(stream.text_stream) == "Hello again."


def test_a_token_of_google_that_expired(fake: Fake) -> None:
    with pytest.raises(anthropic.AuthenticationError, match="Request had invalid authentication credentials"):
        make_vertex(fake, fake.identity.issue_google_token(-1)).messages.create(model="claude-sonnet-4-6", **CLAUDE)


def test_boto_invokes_a_model(fake: Fake) -> None:
    keys = fake.identity.issue_aws_keys()
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=fake.base_url("bedrock"),
        aws_access_key_id=keys.access_key,
        aws_secret_access_key=keys.secret_key,
        aws_session_token=keys.token,
    )
    body = json.dumps({"anthropic_version": "bedrock-2023-05-31", **CLAUDE})
    fake.play("Hello.", "Hello again.")
    model = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    said = json.loads(client.invoke_model(modelId=model, body=body)["body"].read())
    assert said["content"][-1]["text"] == "Hello."
    events = client.invoke_model_with_response_stream(modelId=model, body=body)["body"]
    kinds = [json.loads(event["chunk"]["bytes"])["type"] for event in events]
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    with pytest.raises(client.exceptions.ValidationException, match="anthropic_version: Field required"):
        client.invoke_model(modelId=model, body=json.dumps(CLAUDE))


def test_gemini_on_vertex(fake: Fake) -> None:
    from google.oauth2.credentials import Credentials

    fake.play("Hello.", "Hello again.")
    options = genai.types.HttpOptions(base_url=fake.base_url("vertex"))
    known = {"project": "p", "location": "global", "http_options": options}
    client = genai.Client(vertexai=True, credentials=Credentials(fake.identity.issue_google_token()), **known)
    assert client.models.generate_content(model="gemini-3.1-pro-preview", contents="Hi").text == "Hello."
    parts = client.models.generate_content_stream(model="gemini-3.1-pro-preview", contents="Hi")
    assert "".join(part.text or "" for part in parts) == "Hello again."
    stranger = genai.Client(vertexai=True, credentials=Credentials("none"), **known)
    with pytest.raises(genai.errors.ClientError, match="401 UNAUTHENTICATED"):
        stranger.models.generate_content(model="gemini-3.1-pro-preview", contents="Hi")


@pytest.mark.parametrize("form", ["key", "token", "v1"])
def test_openai_on_azure(fake: Fake, form: str) -> None:
    fake.play("Hello.", "Hello again.", "From responses.")
    if form == "v1":
        client = openai.OpenAI(base_url=f"{fake.base_url('azure')}/openai/v1", api_key=fake.identity.issue_entra_token)
    else:
        own = fake.identity.issue_entra_token
        proof = {"api_key": "a-key"} if form == "key" else {"azure_ad_token_provider": own}
        client = openai.AzureOpenAI(azure_endpoint=fake.base_url("azure"), api_version="2025-04-01-preview", **proof)
    asked = {"model": "gpt-4o", "messages": [QUESTION]}
    assert client.chat.completions.create(**asked).choices[0].message.content == "Hello."
    parts = client.chat.completions.create(**asked, stream=True)
    assert "".join(part.choices[0].delta.content or "" for part in parts if part.choices) == "Hello again."
    assert client.responses.create(model="gpt-4o", input="Hi").output_text == "From responses."


@pytest.mark.parametrize(
    ("lifetime", "audience"), [(-1, "https://cognitiveservices.azure.com"), (3600, "https://management.azure.com")]
)
def test_a_token_of_entra_that_azure_refuses(fake: Fake, lifetime: float, audience: str) -> None:
    client = openai.AzureOpenAI(
        azure_endpoint=fake.base_url("azure"),
        api_version="2025-04-01-preview",
        azure_ad_token=fake.identity.issue_entra_token(lifetime, audience),
        max_retries=0,
    )
    with pytest.raises(openai.AuthenticationError, match="audience is incorrect"):
        client.chat.completions.create(model="gpt-4o", messages=[QUESTION])


INVOKE = "/bedrock/model/anthropic.claude-sonnet-4-6/invoke"
RAW = "/vertex/v1/projects/p/locations/global/publishers/anthropic/models/claude-sonnet-4-6:rawPredict"
BODY = {"max_tokens": 9, "messages": [QUESTION]}


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        (INVOKE, BODY, 400, "anthropic_version: Field required"),
        (INVOKE, BODY | {"anthropic_version": "2023-06-01"}, 400, "Input should be 'bedrock-2023-05-31'"),
        (INVOKE, BODY | {"anthropic_version": "bedrock-2023-05-31", "model": "m"}, 400, "model: Extra inputs"),
        (INVOKE, BODY | {"anthropic_version": "bedrock-2023-05-31", "stream": True}, 400, "stream: Extra inputs"),
        (INVOKE, {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": []}, 400, "messages"),
        (RAW, BODY, 400, "anthropic_version: Field required"),
        (RAW, BODY | {"anthropic_version": "vertex-2023-10-16", "model": "m"}, 400, "model: Extra inputs"),
        ("/bedrock/anthropic/v1/messages", BODY | {"model": "anthropic.claude-sonnet-4-6"}, 400, "anthropic-version"),
    ],
)
def test_bodies_that_platforms_refuse(fake: Fake, path: str, body: Any, status: int, words: str) -> None:
    token = fake.identity.issue_google_token() if path == RAW else "a-key"
    answer = httpx2.post(fake.url + path, json=body, headers={"authorization": f"Bearer {token}"})
    assert (answer.status_code, words in answer.text) == (status, True)
    assert fake.requests[-1].rejected


@pytest.mark.parametrize(
    ("path", "headers", "status", "words"),
    [
        (INVOKE, {}, 403, "Missing Authentication Token"),
        (INVOKE, {"authorization": "AWS4-HMAC-SHA256 x"}, 403, "X-Amz-Date"),
        (RAW, {}, 401, "missing required authentication credential"),
        ("/azure/openai/v1/chat/completions", {}, 401, "invalid subscription key or wrong API endpoint"),
        ("/azure/openai/v1/chat/completions", {"authorization": "Bearer a.b.c"}, 401, "audience is incorrect"),
    ],
)
def test_requests_without_proof(fake: Fake, path: str, headers: dict[str, str], status: int, words: str) -> None:
    answer = httpx2.post(fake.url + path, json=BODY, headers=headers)
    assert (answer.status_code, words in answer.text) == (status, True)
    assert (path == INVOKE) == ("x-amzn-errortype" in answer.headers)
