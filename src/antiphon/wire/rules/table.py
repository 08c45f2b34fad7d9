"""Table of every rule by code: the requirement in one line, and the provider's error messages.

`…` in a message stands for what varies from body to body. The tables of `docs/rules.md`
are generated from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from antiphon.wire.apis import APIS
from antiphon.wire.rules import model_table

_APIS_BY_LETTER = {spec.rule_letter: spec for spec in APIS.values()}
#: Rules that recorded traffic confirms, or does not disprove, for every server of the API.
_UNIVERSAL_RULES = frozenset(
    (
        *("A0", "A1", "A2", "A3", "A5", "A7"),
        *("O0", "O1", "O2", "O3", "O11"),
        *("R0", "R1", "R2"),
        *("G0", "G1", "G2", "G3", "G9", "G14"),
    )
)
#: Rules of a single server that is not the owner of the API.
_RULES_OF_ONE_SERVER = {"O14": "mistral", "R16": "deepseek"}
#: Rules that apply to any server of a model whose facts say so.
_RULES_BY_FACTS = frozenset(
    (
        *("A13", "A27", "A28", "A29", "A30", "A45"),
        *("O15", "O17", "O18", "O19", "O21"),
        *("R19", "R20", "R21", "R26", "R27"),
        *("G15", "G16", "G17", "G18"),
    )
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of one API. Without messages it is no violation, but explains how other rules are applied."""

    code: str
    wants: str
    wordings: tuple[str, ...] = ()

    @property
    def of(self) -> str:
        """The only server that has the rule, "" for every server of the API, or the API's owner.

        `model` stands for any server of a model whose facts say so.
        """
        if self.code in _UNIVERSAL_RULES:
            return ""
        if self.code in _RULES_BY_FACTS:
            return "model"
        return _RULES_OF_ONE_SERVER.get(self.code, _APIS_BY_LETTER[self.code[0]].rule_providers[0])

    def applies_to(self, provider: str | None) -> bool:
        """Return whether a provider has the rule. None is the owner of the API."""
        owners = _APIS_BY_LETTER[self.code[0]].rule_providers
        if self.code in _RULES_OF_ONE_SERVER:
            return provider == self.of
        return self.code in _UNIVERSAL_RULES | _RULES_BY_FACTS or provider is None or provider in owners


_UNPAIRED_CALL = (
    "…: `tool_use` ids were found without `tool_result` blocks immediately after: …. Each `tool_use` block must have a "
    "corresponding `tool_result` block in the next message."
)
_UNANSWERED_CALL = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The "
    "following tool_call_ids did not have response messages: …"
)
_MISSING = "Missing required parameter: '…'."
_WRONG_TYPE = "Invalid type for '…': expected …, but got … instead."
_TOO_LONG = (
    "Invalid '…': string too long. Expected a string with maximum length …, but got a string with length … instead."
)
_EMPTY = "Invalid '…': empty string. Expected a string with minimum length 1, but got an empty string instead."
_EMPTY_LIST = "Invalid '…': empty array. Expected an array with minimum length 1, but got an empty array instead."
_UNKNOWN_NAME = "Invalid JSON payload received. Unknown name \"…\" at '…': …"
_NO_STRUCT = "Invalid value at '…' (type.googleapis.com/google.protobuf.Struct), …"
_VALUES = "Invalid value: '…'. Supported values are: …."


def _iter_rules() -> Iterator[Rule]:
    yield from _iter_anthropic_rules()
    yield from (Rule(*row) for row in model_table.ANTHROPIC_MODEL_RULES)
    yield from _iter_chat_rules()
    yield from (Rule(*row) for row in model_table.CHAT_MODEL_RULES)
    yield from _iter_responses_rules()
    yield from (Rule(*row) for row in model_table.RESPONSES_MODEL_RULES)
    yield from _iter_gemini_rules()
    yield from (Rule(*row) for row in model_table.GEMINI_MODEL_RULES)
    yield from _iter_interactions_rules()


def _iter_anthropic_rules() -> Iterator[Rule]:
    yield Rule(
        "A0",
        "The body has the API's shape: required fields, and values of the right JSON type.",
        (
            "…: Field required",
            "…: Input should be …",
            "messages: at least one message is required",
            "…: `…` blocks can only be in `…` messages",
        ),
    )
    yield Rule("A1", "Every call is answered in the next message.", (_UNPAIRED_CALL,))
    yield Rule(
        "A2",
        "A result answers a call of the message before it.",
        (
            "…: unexpected `tool_use_id` found in `tool_result` blocks: …. Each `tool_result` block must have a "
            "corresponding `tool_use` block in the previous message.",
        ),
    )
    yield Rule("A3", "Results stand before any other content of their message.", (_UNPAIRED_CALL,))
    yield Rule(
        "A4",
        "No two calls of one message have the same id. Another message may use it again.",
        ("…: `tool_use` ids must be unique",),
    )
    yield Rule(
        "A5",
        "A call has one result.",
        ("…: each tool_use must have a single result. Found multiple `tool_result` blocks with id: …",),
    )
    yield Rule("A6", "Ids are letters, digits, `_` and `-`.", ("…: String should match pattern '^[a-zA-Z0-9_-]+$'",))
    yield Rule("A7", "A call's input is an object.", ("…: Input should be a valid dictionary",))
    yield Rule(
        "A8",
        "A tool's name is letters, digits, `_` and `-`: 1 to 128 where it is declared, 1 to 200 where it is called.",
        ("…: String should have at least 1 character", "…: String should match pattern '^[a-zA-Z0-9_-]{1,…}$'"),
    )
    yield Rule(
        "A9",
        "No text is empty, and a message is not white space alone; beside other content white space may stand.",
        ("…: text content blocks must be non-empty", "…: text content blocks must contain non-whitespace text"),
    )
    yield Rule(
        "A10",
        "Every message has content, except a last one of the assistant.",
        ("…: all messages must have non-empty content except for the optional final assistant message",),
    )
    yield Rule(
        "A11",
        "A last message of the assistant does not end in white space.",
        ("messages: final assistant content cannot end with trailing whitespace",),
    )
    yield Rule(
        "A12",
        "With models since 4.6 the last message is the user's.",
        ("This model does not support assistant message prefill. The conversation must end with a user message.",),
    )
    yield Rule(
        "A13",
        "With models before 4.8 no message has the role `system`.",
        (
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
            'not "system" as an input message role.',
        ),
    )
    yield Rule("A14", "Neighbouring messages of one role are joined before any of these rules is applied.")
    yield Rule(
        "A15",
        "With a thinking budget, a row of calls under way begins with thinking (models before 4.6).",
        (
            "…: Expected `thinking` or `redacted_thinking`, but found `…`. When `thinking` is enabled, a final "
            "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
            "`tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
            "requirement, disable `thinking`. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
        ),
    )
    yield Rule(
        "A16",
        "Thinking goes back as it came. Only a server that remembers can tell.",
        (
            "…: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response.",
        ),
    )
    yield Rule(
        "A17",
        "Thinking has its signature, a genuine one.",
        ("…: Field required", "…: Invalid `signature` in `thinking` block"),
    )
    yield Rule(
        "A18",
        "Thinking stays in its own conversation. Only a server that remembers can tell.",
        (
            "…: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the "
            'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
        ),
    )
    yield Rule(
        "A19",
        "Without thinking, a last message of the assistant holds none (models before 4.6).",
        (
            "…: When thinking is disabled, an `assistant` message in the final position cannot contain `…`. To use "
            "thinking blocks, enable `thinking` in your request.",
        ),
    )
    yield Rule(
        "A20",
        "No tool is forced together with a thinking budget.",
        ("Thinking may not be enabled when tool_choice forces tool use.",),
    )
    yield Rule("A21", "An error's result is text alone.", ("…: all content must be type `text` if `is_error` is true",))
    yield Rule(
        "A22",
        "The result of a server's tool stands behind its call.",
        (
            "…: unexpected `tool_use_id` found in `…` blocks: …. Each `…` block must have a corresponding `…` block "
            "before it.",
        ),
    )
    yield Rule(
        "A23",
        "A tool's schema has no alternatives at its top.",
        ("…: input_schema does not support oneOf, allOf, or anyOf at the top level",),
    )
    yield Rule(
        "A24",
        "At most four blocks are marked for the cache.",
        ("A maximum of 4 blocks with cache_control may be provided. Found ….",),
    )
    yield Rule("A25", "Tools need not be declared for the calls of the history; some proxies still want it.")
    yield Rule(
        "A26",
        "A result's content is text, or a list of the blocks that may stand there.",
        (
            "…: Input should be a valid list",
            "…: Input tag '…' found using 'type' does not match any of the expected tags: …",
        ),
    )


def _iter_chat_rules() -> Iterator[Rule]:
    yield Rule(
        "O0",
        "The body has the API's shape: required fields, known roles, and values of the right JSON type.",
        (
            _MISSING,
            _WRONG_TYPE,
            _VALUES,
            "you must provide a model parameter",
            "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload, but what was "
            "sent was not a JSON object.",
        ),
    )
    yield Rule(
        "O1",
        "A tool message answers a call of the assistant's message before it.",
        (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            "Invalid parameter: 'tool_call_id' of '…' not found in 'tool_calls' of previous message.",
        ),
    )
    yield Rule("O2", "Every call is answered before the next message.", (_UNANSWERED_CALL,))
    yield Rule("O3", "Nothing but system messages stands between a call and its answers.", (_UNANSWERED_CALL,))
    yield Rule("O4", "`tool_calls` is left out where there are none.", (_EMPTY_LIST,))
    yield Rule("O5", "A call's id has at most 40 characters.", (_TOO_LONG,))
    yield Rule(
        "O6",
        "A function's name is 1 to 64 letters, digits, `_` and `-`.",
        (
            _EMPTY,
            _TOO_LONG,
            "Invalid '…': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
        ),
    )
    yield Rule(
        "O7",
        "A message has content; the assistant's may have calls instead.",
        ("Invalid value for 'content': expected a string, got null.",),
    )
    yield Rule(
        "O8",
        "`tool_choice` and `parallel_tool_calls` need tools.",
        ("Invalid value for '…': '…' is only allowed when 'tools' are specified.",),
    )
    yield Rule(
        "O9",
        "Images are in the user's messages alone (models before gpt-5).",
        (
            "Invalid '…'. Image URLs are only allowed for messages with role 'user', but this message with role '…' "
            "contains an image URL.",
        ),
    )
    yield Rule(
        "O10",
        "A strict schema is an object at its top, closed, requires all its properties, and uses no keyword that strict "
        "mode does not know.",
        ("Invalid schema for …: In context=…, …", "Invalid schema for …: schema must be a JSON Schema of …"),
    )
    yield Rule("O11", "There is a message.", (_EMPTY_LIST,))
    yield Rule(
        "O12",
        "A call's arguments are JSON as text; `required` in a schema is a list.",
        (_MISSING, _WRONG_TYPE, "Invalid schema for …: None is not of type 'array'."),
    )
    yield Rule(
        "O13",
        "There are at most 128 tools.",
        (
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length "
            "… instead.",
        ),
    )
    yield Rule(
        "O14",
        "A call's id is nine letters and digits.",
        ("Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9.",),
    )


def _iter_responses_rules() -> Iterator[Rule]:
    yield Rule(
        "R0",
        "The body has the API's shape: required fields, and values of the right JSON type.",
        (
            _MISSING,
            _WRONG_TYPE,
            "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload, but what was "
            "sent was not a JSON object.",
        ),
    )
    yield Rule(
        "R1",
        "Every function's call has its output, wherever it stands.",
        ("No tool output found for function call ….",),
    )
    yield Rule("R2", "An output answers a call that is there.", ("No tool call found for … output with call_id ….",))
    yield Rule(
        "R3",
        "Reasoning is followed by what it led to.",
        ("Item '…' of type 'reasoning' was provided without its required following item.",),
    )
    yield Rule(
        "R4",
        "What reasoning led to comes with it.",
        (
            "Item '…' was provided without its required 'reasoning' item: '…'.",
            "Item '…' of type 'function_call' was provided without its required 'reasoning' item: '…'.",
        ),
    )
    yield Rule(
        "R5",
        "Reasoning goes to models that reason.",
        ("Reasoning input items can only be provided to a reasoning or computer use model.",),
    )
    yield Rule(
        "R6",
        "An item's id begins as its type wants.",
        ("Invalid '…': '…'. Expected an ID that begins with '…'.",),
    )
    yield Rule(
        "R7",
        "An item's id is letters, digits, `_` and `-`.",
        (
            "Invalid '…': '…'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value "
            "contained additional characters.",
        ),
    )
    yield Rule("R8", "A call's id has 1 to 64 characters.", (_EMPTY, _TOO_LONG))
    yield Rule("R9", "No item is there twice.", ("Duplicate item found with id …",))
    yield Rule("R10", "The assistant's text is `output_text` or `refusal`.", (_VALUES,))
    yield Rule(
        "R11",
        "Where nothing is stored, items come whole and not by their ids.",
        (
            "Item with id '…' not found. Items are not persisted when `store` is set to false. Try again with `store` "
            "set to true, or remove this item from your input.",
        ),
    )
    yield Rule(
        "R12",
        "Encrypted reasoning is genuine. Only a server that remembers can tell.",
        ("The encrypted content … could not be verified.",),
    )
    yield Rule(
        "R13",
        "The response to continue is still stored. Only a server that remembers can tell.",
        ("Previous response with id '…' not found.",),
    )
    yield Rule(
        "R14",
        "Calls, outputs, functions and formats have the form of this API, not that of Chat Completions.",
        (
            _VALUES,
            _MISSING,
            _WRONG_TYPE,
            "Unsupported parameter: '…'. In the Responses API, this parameter has moved to '…'. Try again with the new "
            "parameter. See the API documentation for more information: "
            "https://platform.openai.com/docs/api-reference/responses/create.",
        ),
    )
    yield Rule("R15", "Calls and outputs are paired by id: their order is free.")
    yield Rule("R16", "No message stands between a call and its output.", ("No tool output found for tool call ….",))
    yield Rule(
        "R18",
        "A function's name is 1 to 128 letters, digits, `_` and `-`.",
        (
            _EMPTY,
            _TOO_LONG,
            "Invalid '…': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
        ),
    )
    yield Rule(
        "R17",
        "Every custom tool's call has its output. With xAI they are calls of the server's own tools.",
        ("No tool output found for custom tool call ….",),
    )


def _iter_gemini_rules() -> Iterator[Rule]:
    yield Rule(
        "G0",
        "The body has the API's shape: contents with parts that hold something.",
        (
            "* …: contents is not specified",
            "* …: contents.parts must not be empty.",
            "* …: required oneof field 'data' must have one initialized field",
            "Invalid value at '…' (type.googleapis.com/google.ai.generativelanguage.v1beta.…), …",
            'Invalid JSON payload received. Unknown name "": Root element must be a message.',
        ),
    )
    yield Rule(
        "G1",
        "A turn of calls is answered by as many responses.",
        (
            "Please ensure that the number of function response parts is equal to the number of function call parts of "
            "the function call turn.",
        ),
    )
    yield Rule(
        "G2",
        "Calls follow the user or responses: a history does not begin with them.",
        (
            "Please ensure that function call turn comes immediately after a user turn or after a function response "
            "turn.",
        ),
    )
    yield Rule(
        "G3",
        "Responses follow their calls at once.",
        ("Please ensure that function response turn comes immediately after a function call turn.",),
    )
    yield Rule(
        "G4",
        "Calls carry thought signatures (models since Gemini 3).",
        (
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
            "correctly, and missing thought_signature may lead to degraded model performance. Additional data, "
            "function call `default_api:…` , position …. Please refer to "
            "https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
        ),
    )
    yield Rule("G5", "G4 holds for the first call of each step since the user last spoke.")
    yield Rule("G6", "`skip_thought_signature_validator` stands in for the signature of a call made elsewhere.")
    yield Rule(
        "G7",
        "A thought signature is base64, and genuine.",
        ("Invalid value at '…' (TYPE_BYTES), Base64 decoding failed", "Corrupted thought signature."),
    )
    yield Rule("G8", "Roles are `user` and `model`.", ("Please use a valid role: user, model.",))
    yield Rule("G9", "A response is an object.", (_UNKNOWN_NAME, _NO_STRUCT))
    yield Rule(
        "G10",
        "The last content is the user's.",
        (
            "Please ensure that multiturn requests ends with a user role or a function response.",
            "Please ensure that single turn requests end with a user role or the role field is empty.",
        ),
    )
    yield Rule("G11", "A schema of Gemini's own kind uses only the keywords it has.", (_UNKNOWN_NAME,))
    yield Rule(
        "G12",
        "An object in such a schema has properties (older models).",
        ("* …: should be non-empty for OBJECT type",),
    )
    yield Rule(
        "G13",
        "JSON as the form of the answer excludes functions (models before Gemini 3).",
        ("Function calling with a response mime type: 'application/json' is unsupported",),
    )
    yield Rule(
        "G14",
        "Functions have legal names, and a call's arguments are an object.",
        (
            "* …: Name cannot be empty.",
            "* …: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, "
            "0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
            _UNKNOWN_NAME,
            _NO_STRUCT,
        ),
    )


def _iter_interactions_rules() -> Iterator[Rule]:
    """Yield the rules that follow from the schema of Google's SDK 3.1.0; no recorded traffic confirms them."""
    missing, invalid = "Missing required field: '…'.", "Invalid value at '…', …"
    root = 'Invalid JSON payload received. Unknown name "": Root element must be a message.'
    yield Rule(
        "I0",
        "The body is an object, its fields have the right types, and a call's arguments are an object.",
        (root, invalid),
    )
    yield Rule("I1", "A request names its model or its agent.", ("Missing required field: 'model' or 'agent'.",))
    yield Rule("I2", "A request has input, unless it continues an interaction.", (missing,))
    yield Rule("I3", "Steps, content blocks, tools and choices are of a known type.", (invalid,))
    yield Rule("I4", "Calls, results and text blocks have all their required fields.", (missing,))
    yield Rule(
        "I5", "A result belongs to an earlier call of the same input.", ("No function call found for call_id '…'.",)
    )
    yield Rule(
        "I6",
        "Every call has its result before the next input of the user.",
        ("No function result found for function call '…'.",),
    )
    yield Rule(
        "I7",
        "Function names are legal, as with generateContent.",
        (
            "* …: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, "
            "0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        ),
    )
    yield Rule("I8", "What is made in the background is stored.", ("'background' requires 'store' to be true.",))
    yield Rule("I9", "Allowed tools are declared.", ("Allowed tool '…' is not declared in 'tools'.",))


RULES = {rule.code: rule for rule in _iter_rules()}
"""All rules by code."""


def render_rule_tables() -> str:
    """Return the table in Markdown, one section for each API."""
    parts: list[str] = []
    for letter, spec in _APIS_BY_LETTER.items():
        parts += [
            f"\n### {spec.title}\n",
            "| code | what it wants | of | in the provider's words |",
            "|---|---|---|---|",
        ]
        parts += [_render_row(rule, spec.rule_providers[0]) for rule in RULES.values() if rule.code[0] == letter]
    return "\n".join(parts) + "\n"


def update_rules_page(text: str) -> str:
    """Return the page `docs/rules.md` with its tables replaced by the current ones."""
    before, start, rest = text.partition(_START)
    _, end, after = rest.partition(_END)
    return f"{before}{start}{render_rule_tables()}{end}{after}"


def _render_row(rule: Rule, owner: str) -> str:
    whose = {"": "all", owner: f"`{owner}`", "model": "the model"}.get(rule.of, f"`{rule.of}` alone")
    words = "<br>".join(_render_code(wording.replace("\n\n", " ")) for wording in rule.wordings)
    return f"| {rule.code} | {rule.wants} | {whose} | {words} |"


def _render_code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


_START = "<!-- rules -->\n"
_END = "\n<!-- end of rules -->"
