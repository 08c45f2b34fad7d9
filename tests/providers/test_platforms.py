"""Models on Amazon Bedrock, Vertex AI and Azure: addresses, sign-in, requests, streams and errors."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
import traceback
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from antiphon import Conversation, Credential, Session, connect, embed, tool
from antiphon.errors import (
    AntiphonError,
    AuthenticationFailed,
    ConfigurationError,
    CredentialsFailed,
    NotFound,
    OptionError,
    RateLimited,
    RequestRejected,
    StatusError,
    StreamCut,
)
from antiphon.fakes import Answer, Fail, Fake, call, echo
from antiphon.fakes.identity import FakeAwsKeys
from antiphon.providers import NO_RETRY, Model
from antiphon.wire import Usage

BEDROCK, INVOKE = "bedrock/us.anthropic.claude-sonnet-5-5", "bedrock-invoke/us.anthropic.claude-sonnet-4-6"
VERTEX, GEMINI = "vertex/claude-sonnet-5-5", "vertex/gemini-3.1-pro-preview"
AZURE, RESPONSES = "azure/gpt-4o", "azure-responses/my-deployment"
NAMES = [
    BEDROCK,
    INVOKE,
    "bedrock/openai.gpt-6-sol",
    "bedrock/openai.gpt-oss-120b-1:0",
    VERTEX,
    GEMINI,
    AZURE,
    RESPONSES,
]


def asking() -> Conversation:
    conversation = Conversation()
    conversation.add_user("Hello.")
    return conversation


def run_stream(model: Model) -> str:
    with model.stream(asking()) as stream:
        text = "".join(delta.text for delta in stream if type(delta).__name__ == "TextDelta")
    assert stream.reply.text == text
    return text


async def run_async_stream(model: Model) -> str:
    async with model.astream(asking()) as stream:
        async for _ in stream:
            pass
    return stream.reply.text


WAYS: dict[str, Any] = {
    "chat": lambda model: model.chat(asking()).text,
    "stream": run_stream,
    "achat": lambda model: asyncio.run(model.achat(asking())).text,
    "astream": lambda model: asyncio.run(run_async_stream(model)),
}


@pytest.fixture(autouse=True)
def nobody_is_signed_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"),
        *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "GOOGLE_APPLICATION_CREDENTIALS"),
        *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION"),
        *("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL", "IDENTITY_ENDPOINT"),
        *("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))


def use_aws(monkeypatch: pytest.MonkeyPatch, keys: FakeAwsKeys) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys.secret_key)
    monkeypatch.setenv("AWS_SESSION_TOKEN", keys.token)


def sign_in(fake: Fake, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Model:
    """Return a model that signs in as an application of the platform does."""
    if name.startswith("bedrock"):
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{fake.url}/aws/credentials")
    elif name.startswith("vertex"):
        file = tmp_path / "account.json"
        file.write_text(json.dumps(fake.identity.make_service_account(fake.url)))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    else:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{fake.url}/entra/token")
        monkeypatch.setenv("IDENTITY_HEADER", fake.identity.header)
    return fake.connect(name, key=None, retry=NO_RETRY)


@pytest.mark.parametrize(
    ("name", "variables", "api", "url", "path"),
    [
        (
            *(BEDROCK, {"AWS_REGION": "eu-west-1"}, "anthropic"),
            *("https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic", "/v1/messages"),
        ),
        (
            *("bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-5", {}, "anthropic"),
            *("https://bedrock-runtime.us-west-2.amazonaws.com/anthropic", "/v1/messages"),
        ),
        (
            *("bedrock-invoke/anthropic.claude-sonnet-4-5-20250929-v1:0", {}, "anthropic"),
            "https://bedrock-runtime.us-west-2.amazonaws.com",
            "/model/anthropic.claude-sonnet-4-5-20250929-v1:0/invoke-with-response-stream",
        ),
        (
            *("bedrock/global.openai.gpt-6-sol", {}, "openai-responses"),
            *("https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "/responses"),
        ),
        (
            *("bedrock/openai.gpt-oss-120b-1:0", {}, "openai-chat"),
            *("https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "/chat/completions"),
        ),
        (
            *("vertex/claude-sonnet-4-5@20250929", {}, "anthropic", "https://aiplatform.googleapis.com"),
            "/v1/projects/p-1/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
        ),
        (
            *(VERTEX, {"GOOGLE_CLOUD_LOCATION": "eu"}, "anthropic", "https://aiplatform.eu.rep.googleapis.com"),
            "/v1/projects/p-1/locations/eu/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict",
        ),
        (
            *(GEMINI, {"CLOUD_ML_REGION": "us-east5"}, "gemini", "https://us-east5-aiplatform.googleapis.com"),
            "/v1/projects/p-1/locations/us-east5/publishers/google/models/gemini-3.1-pro-preview"
            ":streamGenerateContent?alt=sse",
        ),
        ("azure/gpt-4o", {}, "openai-chat", "https://mine.openai.azure.com/openai/v1", "/chat/completions"),
        ("azure/gpt-6-sol", {}, "openai-responses", "https://mine.openai.azure.com/openai/v1", "/responses"),
        (RESPONSES, {}, "openai-responses", "https://mine.openai.azure.com/openai/v1", "/responses"),
        (
            *("azure/x", {"AZURE_OPENAI_BASE_URL": "https://gateway/v1"}, "openai-chat"),
            *("https://gateway/v1", "/chat/completions"),
        ),
    ],
)
def test_a_name_and_variables_tell_the_api_and_the_address(
    name: str, variables: dict[str, str], api: str, url: str, path: str
) -> None:
    places = {
        "AWS_DEFAULT_REGION": "us-west-2",
        "GOOGLE_CLOUD_PROJECT": "p-1",
        "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/",
    }
    model = connect(name, key="k", environment={**places, **variables})
    assert (model.target.api, model.url) == (api, url)
    assert model._stream_path == path


@pytest.mark.parametrize(
    ("name", "environment", "words"),
    [
        (BEDROCK, {}, "bedrock has no address .*the region is not known: set AWS_REGION or set AWS_DEFAULT_REGION or"),
        (VERTEX, {}, "the project is not known: set GOOGLE_CLOUD_PROJECT or set ANTHROPIC_VERTEX_PROJECT_ID$"),
        (AZURE, {}, "the endpoint is not known: set AZURE_OPENAI_ENDPOINT or set AZURE_OPENAI_BASE_URL or pass `url`"),
        (BEDROCK, {"AWS_REGION": "evil.example/#"}, "holds no region of bedrock: 'evil.example/#'"),
        (VERTEX, {"GOOGLE_CLOUD_PROJECT": "../x"}, "holds no project of vertex"),
        (AZURE, {"AZURE_OPENAI_ENDPOINT": "mine"}, "holds no endpoint of azure: 'mine'"),
        ("vertex/llama-4", {"GOOGLE_CLOUD_PROJECT": "p"}, "vertex is known to serve models whose names match"),
        ("bedrock-invoke/openai.gpt-6", {"AWS_REGION": "r"}, "bedrock-invoke is known to serve models whose names"),
    ],
)
def test_what_is_missing_or_wrong_is_said(name: str, environment: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        connect(name, key="k", environment=environment)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_a_model_is_asked_with_the_sign_in_of_its_platform(
    name: str, way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Fake(echo) as fake:
        model = sign_in(fake, name, monkeypatch, tmp_path)
        assert WAYS[way](model) == WAYS[way](model) == "You said: Hello."
        assert [got.rejected for got in fake.requests] == ["", ""]


@pytest.mark.parametrize("name", NAMES)
def test_a_key_is_enough(name: str) -> None:
    with Fake(echo, keys=["the-key-of-mine"]) as fake:
        key = fake.identity.issue_google_token() if name.startswith("vertex") else "the-key-of-mine"
        assert fake.connect(name, key=key, retry=NO_RETRY).chat(asking()).text == "You said: Hello."
        with pytest.raises(AuthenticationFailed):
            fake.connect(name, key="another-key", retry=NO_RETRY).chat(asking())


@pytest.mark.parametrize("name", [BEDROCK, INVOKE, VERTEX, GEMINI, AZURE])
def test_tools_are_called_and_streamed_over_several_turns(name: str) -> None:
    @tool
    def weather(city: str) -> str:
        """Return the weather."""
        return f"rain in {city}"

    with Fake([Answer("", calls=[call("weather", city="Oslo")], reasoning="Hm."), "It rains."]) as fake:
        session = Session(fake.connect(name, retry=NO_RETRY), tools=[weather])
        assert session.vibe("Weather?").value == "It rains."
        assert "rain in Oslo" in json.dumps(fake.requests[1].body)
        assert [got.rejected for got in fake.requests] == ["", ""]


def test_the_version_and_the_model_stand_where_the_platform_wants_them() -> None:
    with Fake(echo) as fake:
        for name in (VERTEX, INVOKE, BEDROCK):
            run_stream(fake.connect(name))
        vertex, invoke, bedrock = fake.requests
    assert (vertex.body["anthropic_version"], vertex.body["stream"]) == ("vertex-2023-10-16", True)
    assert invoke.body["anthropic_version"] == "bedrock-2023-05-31"
    assert "model" not in vertex.body
    assert not {"model", "stream"} & invoke.body.keys()
    assert bedrock.body["model"] == "us.anthropic.claude-sonnet-5-5"
    assert bedrock.headers["anthropic-version"] == "2023-06-01"
    assert "anthropic_version" not in bedrock.body


def test_betas_of_invoke_stand_in_the_body() -> None:
    from antiphon.facts import Facts, register_model

    register_model(
        "bedrock-invoke/us.anthropic.claude-beta-*", Facts(tool_change="definitions", betas={"tool_change": "b-1"})
    )
    with Fake(echo) as fake:
        model = fake.connect("bedrock-invoke/us.anthropic.claude-beta-1", retry=NO_RETRY)
        from antiphon import ToolSpec

        conversation = Conversation(tools=[ToolSpec("one", "One.")])
        conversation.add_user("Hello.")
        model.chat(conversation)
        conversation.tools = []
        conversation.add_user("Hello.")
        body = json.loads(model.request(conversation))
    assert body.get("anthropic_beta") == ["b-1"]


@pytest.mark.parametrize("name", [BEDROCK, INVOKE, VERTEX, GEMINI, AZURE])
def test_what_expired_at_the_server_is_renewed_and_the_request_repeated(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Fake(echo) as fake:
        model = sign_in(fake, name, monkeypatch, tmp_path)
        model.chat(asking())
        fake.identity.revoke_all()
        assert model.chat(asking()).text == "You said: Hello."
        assert [bool(got.rejected) for got in fake.requests] == [False, True, False]


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        (BEDROCK, "expired", r"403: The security token .* is expired .*; the credentials of AWS have expired: sign in"),
        (BEDROCK, "unknown", "security token included in the request is invalid.*AWS does not know these credentials"),
        (BEDROCK, "secret", "signature we calculated does not match.*; check AWS_SECRET_ACCESS_KEY and the clock"),
        (INVOKE, "secret", "signature we calculated does not match.*; check AWS_SECRET_ACCESS_KEY and the clock"),
    ],
)
def test_keys_of_aws_that_are_not_accepted(name: str, said: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Fake(echo) as fake:
        keys = fake.identity.issue_aws_keys(-1 if said == "expired" else 3600)
        changes = {"secret": {"secret_key": "x" * 40}, "unknown": {"access_key": "ASIAXXXXXXXXXXXXXXXX"}}
        keys = keys._replace(**changes.get(said, {}))
        use_aws(monkeypatch, keys)
        with pytest.raises(AuthenticationFailed, match=words) as caught:
            fake.connect(name, key=None, retry=NO_RETRY).chat(asking())
        assert len(fake.requests) == (2 if said == "expired" else 1)
    told = f"{caught.value} {vars(caught.value)}"
    assert keys.secret_key not in told
    assert keys.token not in told


@pytest.mark.parametrize("name", [BEDROCK, INVOKE])
def test_a_signature_covers_the_request(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx2

    class Changing(httpx2.BaseTransport):
        def __init__(self, change: str) -> None:
            self.change, self.inner = change, httpx2.HTTPTransport()

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            body, headers, url = request.content, dict(request.headers), str(request.url)
            if self.change == "body":
                body = body.replace(b"Hello", b"Hullo")
            if self.change == "path":
                url = url.replace("sonnet", "sonnat").replace("/v1/messages", "/v1/messages?x=1")
            if self.change == "date":
                headers["x-amz-date"] = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - 30))
            headers.pop("content-length")
            return self.inner.handle_request(httpx2.Request(request.method, url, headers=headers, content=body))

    with Fake(echo) as fake:
        use_aws(monkeypatch, fake.identity.issue_aws_keys())
        for change in ("none", "body", "path", "date"):
            model = fake.connect(name, key=None, retry=NO_RETRY, transport=Changing(change))
            if change == "none":
                assert model.chat(asking()).text == "You said: Hello."
                continue
            with pytest.raises(AuthenticationFailed, match=r"signature we calculated|valid region"):
                model.chat(asking())


@pytest.mark.parametrize(
    ("name", "fail", "kind", "words"),
    [
        (BEDROCK, Fail(403), AuthenticationFailed, "needs the permissions `bedrock:InvokeModel`"),
        (
            *(INVOKE, Fail(403, "You don't have access to the model with the specified model ID.")),
            *(AuthenticationFailed, "; this account has no access to the model in this region: enable it"),
        ),
        (BEDROCK, Fail(429), RateLimited, "Too many requests"),
        (INVOKE, Fail(400, "The 401 of 403"), RequestRejected, "The 401 of 403 \\(request [0-9a-f-]{36}\\)$"),
        (
            *(VERTEX, Fail(403, "Permission 'aiplatform.endpoints.predict' denied on resource '//x'")),
            *(AuthenticationFailed, "needs the role `roles/aiplatform.user` in the project that GOOGLE_CLOUD_PROJECT"),
        ),
        (
            *(GEMINI, Fail(403, "Vertex AI API has not been used in project 1 before or it is disabled.")),
            *(AuthenticationFailed, "; enable the API `aiplatform.googleapis.com` in the project"),
        ),
        (
            *(VERTEX, Fail(404, "Publisher Model `projects/p/x` was not found or your project does not have access")),
            *(NotFound, "; enable the model in the Model Garden of the project, or set GOOGLE_CLOUD_LOCATION"),
        ),
        (AZURE, Fail(401), AuthenticationFailed, "; this identity needs the role `Cognitive Services OpenAI User`"),
        (AZURE, Fail(404), NotFound, "; the name after `azure/` is that of a deployment of this resource"),
    ],
)
def test_errors_say_what_to_do(name: str, fail: Fail, kind: type[StatusError], words: str) -> None:
    with Fake([fail]) as fake, pytest.raises(kind, match=words):
        fake.connect(name, retry=NO_RETRY).chat(asking())


def test_wrong_tokens_say_what_to_do() -> None:
    with Fake(echo) as fake:
        for token in ("none-of-google", fake.identity.issue_google_token(-1)):
            with pytest.raises(AuthenticationFailed, match="; the token has expired or is none: `gcloud auth appl"):
                fake.connect(VERTEX, key=token).chat(asking())
        own = fake.identity
        for token in (own.issue_entra_token(-1), own.issue_entra_token(audience="https://graph.microsoft.com")):
            with pytest.raises(AuthenticationFailed, match=r"audience is incorrect.*; sign in again \(`az login`\)"):
                fake.connect(AZURE, key=lambda token=token: Credential(token)).chat(asking())
        forged = own.issue_entra_token()[:-8] + "AAAAAAAA"
        with pytest.raises(AuthenticationFailed):
            fake.connect(AZURE, key=lambda: forged).chat(asking())
        fake.keys.add("one")
        with pytest.raises(AuthenticationFailed, match="; check AZURE_OPENAI_API_KEY, and that AZURE_OPENAI_ENDPOINT"):
            fake.connect(AZURE, key="two").chat(asking())


@pytest.mark.parametrize("name", [BEDROCK, INVOKE, VERTEX, AZURE])
def test_functions_for_keys_return_tokens(name: str) -> None:
    with Fake(echo, keys=["an-api-key"]) as fake:
        tokens = {"vertex": fake.identity.issue_google_token, "azure": fake.identity.issue_entra_token}
        get = tokens.get(name.partition("/")[0], lambda: "an-api-key")
        assert fake.connect(name, key=get, retry=NO_RETRY).chat(asking()).text == "You said: Hello."


@pytest.mark.parametrize("name", [BEDROCK, VERTEX])
def test_nobody_is_signed_in(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    words = "the sign-in to (AWS|Google Cloud) .* failed, so nothing was sent: "
    with Fake(echo) as fake:
        with pytest.raises(CredentialsFailed, match=words) as caught:
            fake.connect(name, key=None).chat(asking())
        assert fake.requests == []
    assert caught.value.__cause__ is not None


def test_no_secret_of_a_sign_in_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "antiphon")
    file = tmp_path / "recording"
    with Fake() as fake:
        keys = fake.identity.issue_aws_keys()
        use_aws(monkeypatch, keys)
        fake.play(f"{keys.token} and {keys.secret_key}", Fail(400, f"token {keys.token} secret {keys.secret_key}"))
        model = fake.connect(BEDROCK, key=None, retry=NO_RETRY, record=file)
        model.chat(asking())
        with pytest.raises(RequestRejected) as caught:
            model.chat(asking())
    told = [model, vars(model), vars(caught.value), caplog.text, file.read_text(), *fake.requests]
    told += traceback.format_exception(caught.value)
    text = "".join(f"{each!r} {each}" for each in told)
    assert keys.token not in text
    assert keys.secret_key not in text


@pytest.mark.parametrize("name", [BEDROCK, INVOKE, VERTEX, GEMINI, AZURE])
def test_recordings_are_replayed_without_a_sign_in(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "recording"
    with Fake(echo) as fake:
        model = sign_in(fake, name, monkeypatch, tmp_path)
        model = fake.connect(name, key=None, record=file)
        assert run_stream(model) == "You said: Hello."
        url = model.url
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    monkeypatch.delenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", raising=False)
    places = {"GOOGLE_CLOUD_PROJECT": "fake-project"}
    assert run_stream(connect(name, url=url, replay=file, environment=places)) == "You said: Hello."


def test_a_stream_of_aws_that_breaks_or_reports_an_error() -> None:
    with Fake([Answer("Hello there, you.", cut_after=4)]) as fake, pytest.raises(StreamCut):
        run_stream(fake.connect(INVOKE, retry=NO_RETRY))


def test_the_bytes_of_an_event_stream_are_checked_in_any_chunks() -> None:
    import httpx2
    from hypothesis import given
    from hypothesis import strategies as st

    from antiphon.fakes.aws_stream import encode_chunks, encode_exception

    with Fake([Answer("Hello there, you.")]) as fake, httpx2.Client(base_url=fake.url) as client:
        body = {
            "anthropic_version": "bedrock-2023-05-31",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "?"}],
        }
        place = "/bedrock/model/anthropic.claude-sonnet-4-6/invoke-with-response-stream"
        whole = client.post(place, json=body, headers={"authorization": "Bearer k"}).content

    def ask(chunks: list[bytes]) -> str:
        def answer(_: httpx2.Request) -> httpx2.Response:
            headers = {"content-type": "application/vnd.amazon.eventstream"}
            return httpx2.Response(200, headers=headers, content=iter(chunks))

        transport = httpx2.MockTransport(answer)
        return run_stream(connect(INVOKE, url="http://fake", key="k", retry=NO_RETRY, transport=transport))

    @given(st.lists(st.integers(1, len(whole) - 1), max_size=8))
    def check(cuts: list[int]) -> None:
        edges = [0, *sorted(set(cuts)), len(whole)]
        assert ask([whole[a:b] for a, b in pairwise(edges)]) == "Hello there, you."

    check()
    for place in (4, 20, len(whole) // 2, len(whole) - 2):
        broken = bytearray(whole)
        broken[place] ^= 1
        with pytest.raises(AntiphonError):
            ask([bytes(broken)])
    start = encode_chunks([b'data: {"type":"ping"}\n\n'])[0]
    with pytest.raises(AntiphonError, match="Too many requests"):
        ask([start, encode_exception("throttlingException", "Too many requests")])


def test_facts_and_prices_of_the_model_apply() -> None:
    usage = Usage(1_000_000, 1_000)
    with Fake(echo) as fake:
        for name in (BEDROCK, VERTEX, GEMINI, "azure/gpt-6-sol", "bedrock/openai.gpt-6-sol"):
            model = fake.connect(name)
            assert (model.cost(usage) or 0) > 1, name
            assert (model.facts.context or 0) >= 1_000_000
        assert "code_execution" not in (fake.connect(VERTEX).facts.server_tools or {})
        assert "code_execution" in (fake.connect(GEMINI).facts.server_tools or {})


def test_embeddings_of_azure_are_made_and_those_of_vertex_refused() -> None:
    with Fake(echo) as fake:
        made = embed(["a"], "azure/text-embedding-3-small", url=fake.connect(AZURE).url, key="k")
        assert len(made) == 1
        with pytest.raises(OptionError, match="vertex has no embedding models"):
            fake.connect(GEMINI).embed(["a"])


@pytest.mark.parametrize(
    ("name", "library", "words"),
    [
        (BEDROCK, "botocore", r"no key for bedrock: set AWS_BEARER_TOKEN_BEDROCK, .*antiphon\[bedrock\]"),
        (VERTEX, "google.auth", r"no key for vertex: pass `key`; .*antiphon\[vertex\]"),
        (AZURE, "azure.identity", r"no key for azure: set AZURE_OPENAI_API_KEY, .*antiphon\[azure\]"),
    ],
)
def test_a_missing_extra_is_named(name: str, library: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in [each for each in sys.modules if each == library or each.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, each)
    monkeypatch.setitem(sys.modules, library, None)
    with Fake(echo) as fake, pytest.raises(ConfigurationError, match=words):
        fake.connect(name, key=None)


def test_other_providers_load_no_library_of_a_platform() -> None:
    code = (
        "import sys; from antiphon import connect; connect('anthropic/claude-sonnet-5', key='k');"
        "connect('azure/x', key='k', url='http://localhost/v1');"
        "print([n for n in ('asyncio', 'botocore', 'google.auth', 'azure') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
