"""The facts about one model: typed values, each absent where nothing is known.

They are named tuples, not dataclasses: with so many fields these would cost a tenth of the time to start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from datetime import date

ForcedChoice = Literal["yes", "no", "not_while_thinking", "no_required"]
Parallel = Literal["yes", "no", "cannot_forbid"]
ThinkingDefault = Literal["on", "off", "always", "never"]
Sampling = Literal["yes", "no", "only_without_reasoning"]
BoundThinking = Literal["no", "refuses", "by_account", "drops"]
MidSystem = Literal["yes", "ignored", "no"]
ToolChange = Literal["definitions", "references", "items", "no"]
ConfigChange = Literal["items", "effort_only", "no"]
ToolsApi = Literal["any", "responses_only", "effort_none_only"]
Continuation = Literal["none", "token", "resend", "background"]
Sureness = Literal["D", "P", "L", "B", "I"]


class Source(NamedTuple):
    """The origin of a fact: a key of `sources.toml`, the day it was read, and how sure it is."""

    key: str
    on: date
    sure: Sureness


class Thinking(NamedTuple):
    """The ways in which a model thinks, and how each is asked for.

    `default` is `never` for a model that cannot think. `kinds` are the ways to ask for thinking: Claude's `adaptive`,
    `enabled` and `between_tools`, and elsewhere `effort`, `level`, `budget` and `enabled`. `off` says how to turn
    thinking off: `disabled`, `between_tools`, `none`, `level:<x>`, `lowest` or `impossible`.
    """

    default: ThinkingDefault | None = None
    kinds: tuple[str, ...] = ()
    off: str | None = None
    display: str | None = None
    #: The smallest and the largest number of tokens, where a budget is taken.
    budget: tuple[int, int] | None = None
    #: How readable thinking is asked for: an option's name, or nothing where it always comes.
    readable: str | None = None


class SchemaLimits(NamedTuple):
    """The largest schema that a server compiles; `None` is unknown."""

    tools: int | None = None
    optional: int | None = None
    unions: int | None = None
    depth: int | None = None
    properties: int | None = None
    recursion: bool | None = None
    #: Every object is closed to other properties, and every property is required.
    closed: bool | None = None
    all_required: bool | None = None


class Cache(NamedTuple):
    """A provider's cache of the beginnings of prompts. `read` and `write` are factors of the input price."""

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
    """The limits of one kind of input; empty `types` is unknown."""

    types: tuple[str, ...] = ()
    #: The most bytes of one input as it is sent, in base64.
    bytes: int | None = None
    count: int | None = None
    pages: int | None = None


class Lifecycle(NamedTuple):
    """A model's dates, and the model to use in its place."""

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
    #: By kind (`images`, `pdf`, `audio`, `video`); `None` says that the kind is not taken, a missing key is unknown.
    inputs: Mapping[str, InputLimits | None] | None = None
    outputs: tuple[str, ...] | None = None
    forced_choice: ForcedChoice | None = None
    parallel: Parallel | None = None
    thinking: Thinking = Thinking()
    #: The effort words that are accepted, lowest first; empty where there is no such option.
    efforts: tuple[str, ...] | None = None
    effort_default: str | None = None
    #: The highest effort allowed while thinking is turned off in the named way.
    effort_caps: Mapping[str, str] | None = None
    sampling: Sampling | None = None
    prefill: bool | None = None
    #: `yes`, `json_only`, `no`, or `api:<name>` where only another API of the provider has it.
    schema: str | None = None
    schema_with_tools: bool | None = None
    strict_tools: bool | None = None
    #: The words of JSON Schema that the server takes, where the list is closed.
    schema_words: tuple[str, ...] | None = None
    #: The words of JSON Schema that the server is known to refuse.
    schema_refuses: tuple[str, ...] | None = None
    #: The values of `format` that it takes.
    schema_formats: tuple[str, ...] | None = None
    schema_limits: SchemaLimits = SchemaLimits()
    #: Whether a form stated in words is good enough; `False` makes typed answers use a tool.
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
    cache: Cache = Cache()
    tools_api: ToolsApi | None = None
    continuation: Continuation | None = None
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
    lifecycle: Lifecycle = Lifecycle()
    price_steps: tuple[int, ...] | None = None
    price_changes: tuple[date, ...] | None = None
    #: The provider whose default this model is.
    default_for: str | None = None
    #: Facts of a kind that this release has no field for.
    other: Mapping[str, Any] = MappingProxyType({})
    #: The known model that these facts are about; empty for one that is not in the table.
    name: str = ""
    #: The line of models (`claude`, `gpt`) that an unknown model was taken for; its facts are then the careful ones.
    taken_for: str = ""


def late_names() -> dict[str, object]:
    """Return the names of annotations that are only imported for whoever looks them up."""
    from datetime import date

    return {"date": date}
