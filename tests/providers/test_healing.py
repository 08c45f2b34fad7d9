"""A refusal that names its cure is answered by one more request; what the caller asked for is not changed."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from antiphon import Conversation, connect, facts
from antiphon.conversation import Origin, ProviderPayload, Reasoning, Text, ToolSpec
from antiphon.errors import ContextOverflow, OptionRefused, RequestRejected
from antiphon.fakes import Answer, Fake
from antiphon.providers import resolve
from antiphon.providers.rejection_recovery import LearnedFact, parse_rejection
from antiphon.tools import CodeExecution, WebFetch, WebSearch
from antiphon.wire import APIS, EncodedRequest, Healed, Target
from tests.providers.scripted import Scripted, Status
from tests.providers.test_continuation import FACES, ask, asked, events, message, said

CLAUDE = "anthropic/claude-sonnet-5-5"
BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


@pytest.fixture(autouse=True)
def _nothing_learned() -> Iterator[None]:
    facts.forget_learned_facts()
    yield
    facts.forget_learned_facts()


def refused(text: str, status: int = 400, kind: str = "invalid_request_error") -> Status:
    return Status(status, {"type": "error", "error": {"type": kind, "message": text}})


def thinking_before(model: str = "claude-sonnet-5-5") -> Conversation:
    """Return a conversation with a thinking block of the model's own."""
    block = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    native = ProviderPayload(Origin("anthropic", "anthropic", model), block)
    conversation = asked("Hello.")
    conversation.add_reply([Reasoning("", native), Text("Hi.")])
    return conversation.add_user("And now?")


class TestBoundThinking:
    @pytest.mark.parametrize("face", FACES)
    def test_the_server_is_asked_to_drop_it_for_good(self, face: str, caplog: pytest.LogCaptureFixture):
        conversation = thinking_before()
        answers = [refused(BOUND), *[events(face, message(said("Fine.")))] * 2]
        with Scripted(*answers) as server, caplog.at_level(logging.WARNING):
            model = server.connect(CLAUDE, headers={"anthropic-beta": "mine-1"})
            reply, _ = ask(model, conversation, face)
            conversation.add_user("Again.")
            ask(model, conversation, face)
        first, second, third = server.requests
        assert "block_binding" not in str(first.body)
        for got in (second, third):
            assert got.body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
            assert got.headers["anthropic-beta"] == "mine-1,thinking-binding-controls-2026-08-01"
        assert first.headers["anthropic-beta"] == "mine-1"
        assert reply.healed == (Healed(CLAUDE, "drop_block", False, True, BOUND),)
        assert "drop_block" in caplog.text

    def test_it_is_left_out_where_the_server_cannot_be_asked(self):
        conversation = thinking_before("claude-haiku-4-5")
        with Scripted(refused(BOUND), message(said("Fine."))) as server:
            ask(server.connect("anthropic/claude-haiku-4-5"), conversation)
        assert '"thinking"' in str(server.bodies[0]).replace("'", '"')
        assert [block["type"] for turn in server.bodies[1]["messages"] for block in turn["content"]] == ["text"] * 3

    def test_the_wish_is_saved_with_the_conversation(self, tmp_path: Any):
        conversation = thinking_before()
        with Scripted(refused(BOUND), *[message(said("Fine."))] * 2) as server:
            model = server.connect(CLAUDE)
            ask(model, conversation)
            conversation.save(tmp_path / "c.json")
            loaded = Conversation.load(tmp_path / "c.json")
            ask(model, loaded.fork().add_user("Again."))
        assert "block_binding" in server.bodies[2]["thinking"]


def test_a_fact_is_learned_once_for_the_process_and_told(caplog: pytest.LogCaptureFixture):
    facts.learn("anthropic", "claude-new", "betas.binding_controls", "binding-x")
    facts.learn("anthropic", "claude-new", "thinking.default", "on")
    facts.learn("anthropic", "claude-new", "thinking.kinds", ["adaptive"])
    conversation = thinking_before("claude-new")
    conversation.state.keep(Origin("anthropic", "anthropic", "claude-new"), drop_block=True)
    words = "thinking.adaptive.block_binding: Extra inputs are not permitted"
    with Scripted(refused(words), message(said("a")), message(said("b"))) as server:
        model = server.connect("anthropic/claude-new")
        with caplog.at_level(logging.WARNING):
            reply, _ = ask(model, conversation)
        ask(model, conversation.add_user("Again."))
    assert ["block_binding" in str(body) for body in server.bodies] == [True, False, False]
    assert reply.healed == (Healed("anthropic/claude-new", "betas.binding_controls", "binding-x", False, words),)
    assert "`betas.binding_controls` was 'binding-x' and is now False" in caplog.text
    assert "antiphon setup models learn" in caplog.text


def test_a_cure_that_changes_nothing_is_no_cure():
    with Scripted(refused("role 'system' is not supported")) as server, pytest.raises(RequestRejected) as caught:
        ask(server.connect(CLAUDE), asked())
    assert len(server.requests) == 1
    assert "once more" not in str(caught.value)


def test_a_cure_that_does_not_help_is_said_and_the_second_refusal_raised():
    both = r"Something else.*sent once more with `drop_block` = True"
    answers = [refused(BOUND), refused("Something else is wrong.")]
    with Scripted(*answers) as server, pytest.raises(RequestRejected, match=both) as caught:
        ask(server.connect(CLAUDE), thinking_before())
    assert len(server.requests) == 2
    assert caught.value.text == "Something else is wrong."
    with Scripted(*[refused(BOUND)] * 3) as server, pytest.raises(RequestRejected):
        ask(server.connect(CLAUDE), thinking_before())
    assert len(server.requests) == 2


def test_one_exchange_is_cured_once():
    other = "thinking.adaptive.block_binding: Extra inputs are not permitted"
    answers = [refused(BOUND), refused(other), message(said("Fine."))]
    with Scripted(*answers) as server, pytest.raises(RequestRejected, match="block_binding"):
        ask(server.connect(CLAUDE), thinking_before())
    assert len(server.requests) == 2


def test_nothing_is_cured_once_a_part_was_seen():
    broken = {"type": "error", "error": {"type": "invalid_request_error", "message": BOUND}}
    begun = [*events("stream", message(said("Ha")))[:2], 0.1, broken]
    with Scripted(begun) as server, pytest.raises(RequestRejected, match="bound to"):
        ask(server.connect(CLAUDE), thinking_before(), "stream")
    assert len(server.requests) == 1


TOOL = ToolSpec("f", "F.", {"type": "object", "properties": {}})
FORCED = "tool_choice: `tool_choice` of type any is not supported with this model"
EFFORT = "Unsupported value: 'xhigh' is not supported with the 'x' model. Supported values are: 'low', 'medium'."


class TestOptionsOfTheCaller:
    def refusal(self, model: str, answer: Status, conversation: Conversation, **options: Any) -> OptionRefused:
        with Scripted(answer) as server, pytest.raises(OptionRefused) as caught:
            ask(server.connect(model), conversation, **options)
        assert len(server.requests) == 1
        return caught.value

    def test_a_forced_tool(self):
        conversation = Conversation(tools=[TOOL]).add_user("Hi.")
        error = self.refusal("anthropic/unheard-of", refused(FORCED), conversation, tool_choice="required")
        assert "`tool_choice` asks for" in str(error)
        assert (error.fact, error.now, error.said) == ("forced_choice", "no", FORCED)
        assert facts.lookup_facts("anthropic", "unheard-of").forced_choice == "no"

    def test_an_effort(self):
        error = self.refusal("openai/some-model", refused(EFFORT), asked(), reasoning="xhigh")
        assert (error.fact, error.now) == ("efforts", ["low", "medium"])
        assert facts.lookup_facts("openai", "some-model").efforts == ("low", "medium")

    def test_a_schema(self):
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        words = "The compiled grammar is too large. Simplify the schema."
        error = self.refusal(CLAUDE, refused(words), asked(), output_schema=schema)
        assert "`output_schema`" in str(error)

    def test_fields_of_their_own(self):
        words = "messages.0.clear_at: Extra inputs are not permitted"
        error = self.refusal(CLAUDE, refused(words), asked(), extra={"diagnostics": {"clear_at": 1}})
        assert "`extra`" in str(error)


ORIGIN = Origin("anthropic", "anthropic", "claude-sonnet-5-5")
CODE = ToolSpec(
    "code_execution", "", {}, ProviderPayload(ORIGIN, {"type": "code_execution_20260521", "name": "code_execution"})
)
LATER = {"id": "container_1", "expires_at": "2999-01-01T00:00:00Z"}


class TestContainers:
    def test_the_id_goes_back_where_code_is_run(self, tmp_path: Any):
        conversation = Conversation(tools=[CODE]).add_user("Count.")
        with Scripted(message(said("1"), container=LATER), *[message(said("2"))] * 3) as server:
            model = server.connect(CLAUDE)
            ask(model, conversation)
            conversation.add_user("More.")
            conversation.save(tmp_path / "c.json")
            ask(model, Conversation.load(tmp_path / "c.json"))
            ask(model, conversation.fork())
            without = conversation.fork()
            without.tools = []
            ask(model, without)
        assert [body.get("container") for body in server.bodies] == [None, "container_1", "container_1", None]

    @pytest.mark.parametrize(
        ("tool", "is_sent"),
        [
            (
                ToolSpec(
                    "search", "", {}, ProviderPayload(ORIGIN, {"type": "web_search_20260318", "name": "web_search"})
                ),
                True,
            ),
            (
                ToolSpec("fetch", "", {}, ProviderPayload(ORIGIN, {"type": "web_fetch_20260209", "name": "web_fetch"})),
                True,
            ),
            (
                ToolSpec(
                    "search", "", {}, ProviderPayload(ORIGIN, {"type": "web_search_20250305", "name": "web_search"})
                ),
                False,
            ),
            (WebFetch(), True),
            (WebSearch(), False),
            (CodeExecution(), True),
        ],
    )
    def test_the_id_goes_back_where_code_filters_what_was_found(self, tool: Any, is_sent: bool):
        spec = tool if isinstance(tool, ToolSpec) else tool.spec
        conversation = Conversation(tools=[spec]).add_user("Look.")
        with Fake([Answer("1", container="container_1"), "2"]) as fake:
            model = fake.connect(CLAUDE)
            model.chat(conversation)
            conversation.add_user("More.")
            assert model.chat(conversation).text == "2"
            assert [each.rejected for each in fake.requests] == ["", ""]
            sent = [each.body.get("container") for each in fake.requests]
        assert sent == [None, "container_1" if is_sent else None]

    def test_it_goes_with_a_paused_turn(self):
        conversation = Conversation(tools=[CODE]).add_user("Count.")
        steps = [message(said("1"), stop="pause_turn", container=LATER), message(said("2"))]
        with Scripted(*steps) as server:
            ask(server.connect(CLAUDE), conversation)
        assert [body.get("container") for body in server.bodies] == [None, "container_1"]

    def test_another_model_does_not_get_it(self):
        conversation = Conversation(tools=[CODE]).add_user("Count.")
        conversation.state.keep(ORIGIN, container=LATER)
        with Scripted(message(said("1"))) as server:
            ask(server.connect("anthropic/claude-opus-5-5"), conversation)
        assert "container" not in server.bodies[0]

    def test_one_that_expired_is_left_out_and_told(self):
        conversation = Conversation(tools=[CODE]).add_user("Count.")
        conversation.state.keep(ORIGIN, container={"id": "c1", "expires_at": "2020-01-01T00:00:00Z"})
        with Scripted(message(said("1"))) as server:
            reply, _ = ask(server.connect(CLAUDE), conversation)
        assert "container" not in server.bodies[0]
        assert [(each.fact, each.was, each.now) for each in reply.healed] == [("container", "c1", None)]
        assert not conversation.state

    def test_one_that_is_gone_is_forgotten_and_told(self):
        conversation = Conversation(tools=[CODE]).add_user("Count.")
        conversation.state.keep(ORIGIN, container=LATER)
        gone = refused("Container not found: container_1", 404, "not_found_error")
        with Scripted(gone, message(said("1"))) as server:
            reply, _ = ask(server.connect(CLAUDE), conversation)
        assert [body.get("container") for body in server.bodies] == ["container_1", None]
        assert [(each.fact, each.was, each.now) for each in reply.healed] == [("container", "container_1", None)]
        assert not conversation.state

    def test_a_container_of_the_caller_is_the_callers(self):
        conversation = Conversation(tools=[CODE]).add_user("Count.")
        gone = refused("Container not found: mine", 404, "not_found_error")
        with Scripted(gone) as server, pytest.raises(OptionRefused):
            ask(server.connect(CLAUDE), conversation, extra={"container": "mine"})


def test_a_healed_exchange_is_recorded_and_played_back(tmp_path: Any):
    path = tmp_path / "record.jsonl"
    with Scripted(refused(BOUND), message(said("Fine."))) as server:
        ask(server.connect(CLAUDE, record=path), thinking_before())
    reply = connect(CLAUDE, replay=path).chat(thinking_before())
    assert (reply.text, len(reply.healed)) == ("Fine.", 1)


#: A model, what its server says, and what that teaches.
LESSONS: list[tuple[str, str, str, Any, str]] = [
    ("anthropic/new", BOUND, "bound_thinking", "refuses", "drop_block"),
    ("anthropic/new", FORCED, "forced_choice", "no", "next_rung"),
    ("deepseek/new", "Thinking mode does not support this tool_choice", "forced_choice", "not_while_thinking", ""),
    ("openai-chat/new", "tool_choice 'required' is not allowed", "forced_choice", "no_required", "next_rung"),
    ("openai/new", "Tool choice 'f' not found in 'tools' parameter.", "forced_choice", "no", "leave_out"),
    (
        "anthropic/new",
        '"thinking.type.disabled" is not supported for this model. Use "thinking.type.between_tools" instead.',
        "thinking.off",
        "between_tools",
        "thinking_kind",
    ),
    ("anthropic/new", '"thinking.type.disabled" is not supported.', "thinking.off", "lowest", "thinking_kind"),
    (
        "anthropic/new",
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and output_config.',
        "thinking.kinds",
        ["adaptive"],
        "thinking_kind",
    ),
    ("anthropic/new", "adaptive thinking is not supported", "thinking.kinds", ["enabled"], "thinking_kind"),
    ("anthropic/new", "output_config.effort: must be one of low, high", "efforts", ["low", "high"], "lower_effort"),
    ("openai/new", EFFORT, "efforts", ["low", "medium"], "lower_effort"),
    ("google/new", "thinkingLevel: should be low or high", "efforts", ["low", "high"], "lower_effort"),
    ("anthropic/new", "Schema is too complex.", "schema_limits", None, "next_rung"),
    ("openai/new", "Invalid schema for response_format 'answer'", "schema_limits", None, "next_rung"),
    ("anthropic/new", "Unexpected role 'system'.", "mid_system", "no", "fallback"),
    ("anthropic/new", "thinking.block_binding: Extra inputs are not permitted", "betas.binding_controls", False, ""),
    ("anthropic/new", "messages.2.clear_at: Extra inputs are not permitted", "betas.clear_at", False, "fallback"),
    (
        "anthropic/new",
        "messages.2.content.0.tool_definition: Extra inputs are not permitted",
        "tool_change",
        "references",
        "fallback",
    ),
    (
        "anthropic/new",
        "messages.2.content.0.tool_addition: Extra inputs are not permitted",
        "tool_change",
        "no",
        "fallback",
    ),
    ("anthropic/new", "messages.2.output_config: Extra inputs are not permitted", "config_change", "no", "fallback"),
    ("anthropic/new", "diagnostics: Extra inputs are not permitted", "cache.diagnostics", False, "fallback"),
    ("deepseek/new", "This response_format type is unavailable now", "schema", "json_only", "next_rung"),
    (
        "google/new",
        "Function calling with a response mime type: 'application/json' is unsupported",
        "schema_with_tools",
        False,
        "next_rung",
    ),
    ("openai/new", "Encrypted content is not supported with this model.", "thinking.default", "never", "leave_out"),
    (
        "openai-chat/new",
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "other.max_tokens_field",
        "max_completion_tokens",
        "rename",
    ),
    ("openai/new", "configuration_update is not supported with pro models", "config_change", "no", "fallback"),
    (
        "openai-chat/new",
        "Function tools with reasoning_effort are not supported. Please use /v1/responses instead.",
        "tools_api",
        "responses_only",
        "responses",
    ),
    ("google/new", "Function call is missing a thought_signature.", "signature_scope", "provider", ""),
]


def lesson_of(model: str, words: str, status: int = 400, body: bytes = b"{}") -> LearnedFact | None:
    provider, name = resolve(model)
    target = Target(provider.name, provider.api, name)
    return parse_rejection(RequestRejected("refused", status=status, text=words), target, EncodedRequest(body))


@pytest.mark.parametrize(("model", "words", "fact", "value", "action"), LESSONS)
def test_a_refusal_teaches_a_fact(model: str, words: str, fact: str, value: Any, action: str):
    lesson = lesson_of(model, words)
    assert lesson is not None
    assert (lesson.fact, lesson.value, lesson.said) == (fact, value, words)
    assert not action or lesson.action == action


def test_every_cure_of_the_table_is_tried_here():
    tried = {(resolve(model)[0].api, words) for model, words, *_ in LESSONS} | {("anthropic", "Container not found")}
    for api in APIS:
        for cure in facts.cures(api):
            shared = {other for other in APIS if any(cure.pattern == each.pattern for each in facts.cures(other))}
            assert any(at in shared and cure.pattern.search(words) for at, words in tried), cure.pattern.pattern


def test_an_effort_that_was_sent_is_taken_from_those_that_are_known():
    words = "output_config.effort: this value is not supported"
    lesson = lesson_of(CLAUDE, words, body=b'{"output_config": {"effort": "max"}}')
    assert lesson is not None
    assert lesson.value == ["low", "medium", "high", "xhigh"]


def test_what_names_no_cure_teaches_nothing():
    assert lesson_of(CLAUDE, "messages: at least one message is required") is None
    assert lesson_of(CLAUDE, BOUND, status=404) is None
    overflow = ContextOverflow("too long", status=400, text=BOUND)
    assert parse_rejection(overflow, Target("anthropic", "anthropic", "m"), EncodedRequest(b"{}")) is None


def test_what_was_learned_is_known_only_of_that_model():
    facts.learn("vllm", "one", "forced_choice", "no")
    assert facts.lookup_facts("vllm", "one").forced_choice == "no"
    assert facts.lookup_facts("vllm", "two").forced_choice != "no"
    assert facts.lookup_facts("ollama", "one").forced_choice != "no"


def test_a_model_that_takes_tools_elsewhere_says_where():
    words = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions."
    conversation = Conversation(tools=[TOOL]).add_user("Hi.")
    with (
        Scripted(refused(words)) as server,
        pytest.raises(OptionRefused, match=r"Responses API.*openai-chat says: Function tools"),
    ):
        ask(server.connect("openai-chat/m"), conversation)
    assert facts.lookup_facts("openai-chat", "m").tools_api == "responses_only"
