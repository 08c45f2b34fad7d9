"""Typed facts about one model. An absent value is unknown.

They are named tuples, not dataclasses: with so many fields, dataclasses would take a tenth of the
start-up time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from datetime import date

ForcedChoice = Literal["yes", "no", "not_while_thinking", "no_required"]
ParallelCalls = Literal["yes", "no", "cannot_forbid"]
ThinkingDefault = Literal["on", "off", "always", "never"]
SamplingSupport = Literal["yes", "no", "only_without_reasoning"]
BoundThinking = Literal["no", "refuses", "by_account", "drops"]
MidSystem = Literal["yes", "ignored", "no"]
ToolChange = Literal["definitions", "references", "items", "no"]
ConfigChange = Literal["items", "effort_only", "no"]
ToolsApi = Literal["any", "responses_only", "effort_none_only"]
ContinuationKind = Literal["none", "token", "resend", "background"]
SourceConfidence = Literal["D", "P", "L", "B", "I"]


class Source(NamedTuple):
    """The origin of a fact: a key of `sources.toml`, the day it was read, and its confidence."""

    key: str
    on: date
    sure: SourceConfidence


class Thinking(NamedTuple):
    """The kinds of thinking that a model has, and how each is requested.

    `default` is `never` for a model that cannot think. `kinds` are the ways to request thinking:
    Claude's `adaptive`, `enabled` and `between_tools`, elsewhere `effort`, `level`, `budget` and
    `enabled`. `off` says how to turn it off: `disabled`, `between_tools`, `none`, `level:<x>`, `lowest`
    or `impossible`.
    """

    default: ThinkingDefault | None = None
    kinds: tuple[str, ...] = ()
    off: str | None = None
    display: str | None = None
    #: The minimum and maximum budget in tokens, if the model takes one.
    budget: tuple[int, int] | None = None
    #: The option that requests readable thinking, or None if it always comes.
    readable: str | None = None


class SchemaLimits(NamedTuple):
    """The largest schema that a server compiles. None is unknown."""

    tools: int | None = None
    optional: int | None = None
    unions: int | None = None
    depth: int | None = None
    properties: int | None = None
    recursion: bool | None = None
    #: Whether every object must be closed, and every property required.
    closed: bool | None = None
    all_required: bool | None = None


class CacheFacts(NamedTuple):
    """A provider's prompt cache. `read` and `write` are factors of the input price."""

    kind: Literal["marks", "auto", "none"] | None = None
    min: int | None = None
    ttls: tuple[str, ...] = ()
    marks: int | None = None
    lookback: int | None = None
    key: bool | None = None
    diagnostics: bool | None = None
    read: float | None = None
    write: float | None = None


@dataclass(frozen=True, slots=True)
class InputLimits:
    """The limits of one kind of input. Empty `types` is unknown."""

    types: tuple[str, ...] = ()
    #: Maximum bytes of one input as sent, in Base64.
    bytes: int | None = None
    count: int | None = None
    pages: int | None = None


class ModelLifecycle(NamedTuple):
    """The dates of a model, and its replacement."""

    state: Literal["preview", "active", "legacy", "deprecated", "retired"] | None = None
    released: date | None = None
    deprecated: date | None = None
    retires: date | None = None
    replaced_by: str = ""


class Facts(NamedTuple):
    """All known facts about a model on a platform. An absent field is unknown, never a guess."""

    context: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    max_output_unstreamed: int | None = None
    shared_window: bool | None = None
    stops_at_window: bool | None = None
    #: By kind (`images`, `pdf`, `audio`, `video`); None means unsupported, a missing key unknown.
    inputs: Mapping[str, InputLimits | None] | None = None
    #: The most bytes of a request, and of a file in the provider's files API.
    max_request_bytes: int | None = None
    max_file_bytes: int | None = None
    outputs: tuple[str, ...] | None = None
    forced_choice: ForcedChoice | None = None
    parallel: ParallelCalls | None = None
    thinking: Thinking = Thinking()
    #: The supported efforts, lowest first; empty if there is no such option.
    efforts: tuple[str, ...] | None = None
    effort_default: str | None = None
    #: The highest effort allowed while thinking is turned off in the named way.
    effort_caps: Mapping[str, str] | None = None
    sampling: SamplingSupport | None = None
    prefill: bool | None = None
    #: `yes`, `json_only`, `no`, or `api:<name>` if only another API of the provider has it.
    schema: str | None = None
    schema_with_tools: bool | None = None
    strict_tools: bool | None = None
    #: The JSON Schema keywords that the server accepts, if the list is closed.
    schema_words: tuple[str, ...] | None = None
    #: The JSON Schema keywords that the server is known to reject.
    schema_refuses: tuple[str, ...] | None = None
    #: The values of `format` that it accepts.
    schema_formats: tuple[str, ...] | None = None
    schema_limits: SchemaLimits = SchemaLimits()
    #: Whether a schema in the prompt suffices; False makes typed answers use a tool.
    prompted_ok: bool | None = None
    bound_thinking: BoundThinking | None = None
    #: The parts of a request that thinking is bound to, of system, tools, messages and format.
    binds: tuple[str, ...] | None = None
    reads_thinking_of: tuple[str, ...] | None = None
    signature_scope: Literal["model", "provider", "vendor"] | None = None
    mid_system: MidSystem | None = None
    system_after_result: Literal["ok", "say_end_first"] | None = None
    tool_change: ToolChange | None = None
    config_change: ConfigChange | None = None
    #: The body fields besides tools, system and messages that are part of the cached prompt.
    in_prefix: tuple[str, ...] | None = None
    cache: CacheFacts = CacheFacts()
    tools_api: ToolsApi | None = None
    continuation: ContinuationKind | None = None
    #: The tools that the provider runs itself, by our name, with their versions, newest first.
    server_tools: Mapping[str, tuple[str, ...]] | None = None
    #: Whether tools of the provider and functions may be declared in one request.
    tools_together: bool | None = None
    #: Header values by feature; an empty one means that the feature is generally available.
    betas: Mapping[str, str] | None = None
    #: The media types that a tool's result may hold beside text.
    result_media: tuple[str, ...] | None = None
    #: Whether a call that goes back needs the signature that it came with, or the documented substitute.
    signed_calls: bool | None = None
    lifecycle: ModelLifecycle = ModelLifecycle()
    price_steps: tuple[int, ...] | None = None
    price_changes: tuple[date, ...] | None = None
    #: The provider whose default this model is.
    default_for: str | None = None
    #: Facts that this release has no field for.
    other: Mapping[str, Any] = MappingProxyType({})
    #: The known model that these facts describe; empty for one that is not in the table.
    name: str = ""
    #: The line (`claude`, `gpt`) that an unknown model was assigned to; its facts are then the cautious ones.
    taken_for: str = ""


def late_names() -> dict[str, object]:
    """Return names used in annotations that are imported only when annotations are resolved."""
    from datetime import date

    return {"date": date}
