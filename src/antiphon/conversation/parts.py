"""The parts of turns: text, chat, reasoning, tool calls and results, and provider-specific blocks.

Images and other files are in `media`.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from antiphon._base.json import dump_json, load_json, normalize_json, sanitize_unicode
from antiphon.conversation.attribution import HUMAN_AUTHOR, attribute_text
from antiphon.conversation.media import Media, MediaPart
from antiphon.conversation.provider_payload import ProviderPayload, clean_fields
from antiphon.errors import ContentError, MalformedJSONError
from antiphon.results import Result

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
_AUTHOR = re.compile(r"@?[A-Za-z0-9_.-]{1,64}\Z")
_SHORT_ID_ALPHABET = string.digits + string.ascii_letters


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that a provider cites: a web page, or a file that has only a title.

    On a `Text`, `start` and `end` delimit the characters that it supports. Without them it supports the
    entire text. `quote` is the cited passage.
    """

    url: str = ""
    title: str = ""
    quote: str = ""
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        clean_fields(self, "url", "title", "quote")

    @property
    def name(self) -> str:
        """The title with the address, or whichever of them exists."""
        return f"{self.title} ({self.url})" if self.title and self.url else self.title or self.url


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text of a user, a model or a tool. Text added by a person or program is never empty.

    `citations` are the sources that a provider cites for a model's text.
    """

    text: str
    native: ProviderPayload | None = None
    citations: tuple[Citation, ...] = ()

    def __post_init__(self) -> None:
        clean_fields(self, "text")


@dataclass(frozen=True, slots=True)
class Chat:
    """A message of another agent in a chat of several, with its author's name.

    Models see it as `[Chat from @coder-2]: …`, with each further line marked, so that no text can imitate
    another author.
    """

    author: str
    text: str

    def __post_init__(self) -> None:
        # ASCII only: look-alike letters would let an author imitate another one.
        if not _AUTHOR.match(self.author):
            raise ContentError(
                f"a chat author is a name of letters, digits, `_`, `.` and `-`, such as '@coder-2', not {self.author!r}"
            )
        name = "@" + self.author.removeprefix("@")
        if name.lower() == HUMAN_AUTHOR:
            raise ContentError(f"{self.author!r} is the human's name; what the human says is `Text`, without an author")
        object.__setattr__(self, "author", name)
        clean_fields(self, "text")

    @property
    def attributed_text(self) -> str:
        """The text with its attribution, as models see it."""
        return attribute_text(self.author, self.text)


#: The purpose of a note: the form of an answer, a reminder of it, variables of a program, an instruction, an
#: interruption, or the agents that the conversation was handed to.
NoteKind = Literal["form", "reminder", "variables", "instruction", "interruption", "handoff"]


@dataclass(frozen=True, slots=True)
class Note:
    """Text from the program itself to the model, not from a person.

    It stays at its position, so that later requests start with the earlier ones. Views and transcripts omit
    it.
    """

    text: str
    kind: NoteKind

    def __post_init__(self) -> None:
        clean_fields(self, "text")
        if self.kind not in get_args(NoteKind):
            raise ContentError(f"the kind of a note is one of {', '.join(get_args(NoteKind))}, not {self.kind!r}")
        if not self.text.strip():
            raise ContentError("a note is empty: no provider takes empty text")


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's reasoning. `native` holds its signed or encrypted form; without one it is never sent back.

    `bound` is the hash of everything before it when it was created: some models reject it after any other
    prefix.
    """

    text: str
    native: ProviderPayload | None = None
    bound: str = ""

    def __post_init__(self) -> None:
        clean_fields(self, "text", "bound")


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """A block that only its own API understands. Other providers get `text` instead, if there is any.

    For a block of the model, `text` contains only the model's own words, because other models would attribute
    it to it.
    """

    native: ProviderPayload
    text: str = ""

    def __post_init__(self) -> None:
        clean_fields(self, "text")


@dataclass(frozen=True, slots=True)
class ServerCall:
    """A call that the provider runs itself, such as a web search. It needs no result from the client.

    `tool` is Antiphon's name for the tool (`web_search`, `web_fetch`, `code_execution`, `file_search`, `mcp`,
    `tool_search`), otherwise the provider's. `native` is sent back to the provider that made it. Other models
    are told the findings.
    """

    id: str
    tool: str
    input: dict[str, Any] = field(default_factory=dict[str, Any])
    status: str = ""
    native: ProviderPayload | None = None

    def __post_init__(self) -> None:
        clean_fields(self, "id", "tool", "status")
        object.__setattr__(self, "input", normalize_json(self.input, f"the input of server call {self.id!r}"))


@dataclass(frozen=True, slots=True)
class ServerResult:
    """The result of a provider-run call: its sources, the beginning of its text, and its file names.

    `native` is `None` if the provider keeps call and result in one block, which is then stored with the call.
    """

    call_id: str
    sources: tuple[Citation, ...] = ()
    text: str = ""
    files: tuple[str, ...] = ()
    native: ProviderPayload | None = None

    def __post_init__(self) -> None:
        clean_fields(self, "call_id", "text")
        object.__setattr__(self, "files", tuple([sanitize_unicode(name) for name in self.files]))


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool.

    `problem` states why the call must not run (truncated by the token limit, arguments that are no JSON
    object); it is `None` for a valid call. Later changes of the arguments object have no effect.
    """

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    problem: str | None = None
    native: ProviderPayload | None = None
    arguments_json: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _CALL_ID.match(self.id):
            raise ContentError(f"a call id is 1 to 40 of A-Z a-z 0-9 _ -, not {self.id!r}")
        if not isinstance(self.name, str) or not _TOOL_NAME.match(self.name):
            raise ContentError(f"a tool name is a letter or _ and up to 63 of A-Z a-z 0-9 _ -, not {self.name!r}")
        arguments: object = self.arguments
        if not isinstance(arguments, Mapping):
            raise ContentError(f"the arguments of call {self.id!r} are an object, not {type(self.arguments).__name__}")
        if self.problem is not None:
            clean_fields(self, "problem")
        if not self.arguments_json:
            what = f"the arguments of call {self.id!r} to `{self.name}`"
            object.__setattr__(self, "arguments_json", dump_json(self.arguments, what))
            # Store a copy of exactly what is sent, so that later changes of the given object have no effect.
            object.__setattr__(self, "arguments", load_json(self.arguments_json, what))

    @classmethod
    def read(
        cls, id: str, name: str, arguments: object, *, truncated: bool = False, native: ProviderPayload | None = None
    ) -> ToolCall:
        """Return a call as a model sent it, which may be malformed.

        `arguments` is JSON text or an object. Unparseable arguments are stored under `_malformed`, so that
        nothing is lost and the tool is never run with empty arguments by mistake. An id that some provider
        rejects is replaced.
        """
        if isinstance(arguments, dict):
            value, spelling, problem = cast(dict[str, Any], arguments), "", None
        else:
            value, spelling, problem = _parse_arguments(arguments)
        legal = name
        if not _TOOL_NAME.match(name):
            legal = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64].lstrip("-0123456789") or "_"
            problem = f"there is no tool named {name[:80]!r}"
        if truncated:
            problem = "cut off by the token limit before its arguments were complete"
        id = id if _CALL_ID.match(id) else shorten_call_id(id)
        try:
            return cls(id, legal, value, problem, native, spelling)
        except ContentError as error:
            # An object of a caller that has no JSON form.
            return cls(id, legal, {"_malformed": "a dict"}, problem or str(error), native)


def _parse_arguments(arguments: object) -> tuple[dict[str, Any], str, str | None]:
    """Return arguments that are no object as one, with the text that is sent for them and the problem, if any."""
    value: object = arguments
    spelling = ""
    try:
        if isinstance(arguments, str):
            value = load_json(arguments.strip() or "{}", "the argument text")
            # An escaped surrogate may be a lone one, which `load_json` has replaced.
            spelling = "" if "\\ud" in arguments.lower() else arguments.strip()
        if isinstance(value, dict):
            found = cast(dict[str, Any], value)
            text = dump_json(found, "the arguments")
            return found, spelling or text, None
        return {"_malformed": value}, "", f"the arguments are a JSON object, not {dump_json(value)[:40]}"
    except MalformedJSONError as error:
        return {"_malformed": sanitize_unicode(str(arguments))}, "", str(error)
    except ContentError as error:
        return {"_malformed": f"a {type(arguments).__name__}"}, "", str(error)


def is_valid_tool_name(name: str) -> bool:
    """Return whether every provider accepts this name of a tool."""
    return _TOOL_NAME.match(name) is not None


def normalize_call_id(id: str) -> str:
    """Return the id if every provider except Mistral accepts it, otherwise a short id derived from it."""
    return id if _CALL_ID.match(id) else shorten_call_id(id)


def shorten_call_id(id: str) -> str:
    """Return nine letters and digits derived from the id, a form that every provider accepts."""
    number = int.from_bytes(hashlib.sha256(id.encode("utf-8", "replace")).digest()[:8], "big")
    return "".join(_SHORT_ID_ALPHABET[number // 62**place % 62] for place in range(9))


#: A part of a tool result.
ResultPart = Text | MediaPart | OpaquePart


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call: text, or text and files such as images. An error result contains only text.

    `name` matters only for `auto_assistant_tool_calls`, which must create the call. `handle` identifies the
    full text of a truncated result, which `Conversation.whole` returns. `semantic` is the tool's result
    for people; models see only `content`.
    """

    call_id: str
    content: str | tuple[ResultPart, ...]
    is_error: bool = False
    name: str = field(default="", compare=False)
    native: ProviderPayload | None = None
    handle: str = ""
    semantic: Result | None = None

    def __post_init__(self) -> None:
        if isinstance(self.content, str):
            clean_fields(self, "call_id", "handle", "content")
            return
        clean_fields(self, "call_id", "handle")
        content: object = self.content
        if not isinstance(content, list | tuple):
            kind = type(content).__name__
            raise ContentError(f"the result of call {self.call_id!r} is text or a list of parts, not {kind}")
        parts: list[ResultPart] = []
        for part in cast(Sequence[object], content):
            part = Text(part) if isinstance(part, str) else part
            if not isinstance(part, ResultPart):
                kind = type(part).__name__
                raise ContentError(f"the result of call {self.call_id!r} holds text, images and files, not {kind}")
            if self.is_error and isinstance(part, MediaPart):
                kind = part.kind if isinstance(part, Media) else "file"
                raise ContentError(f"the error result of call {self.call_id!r} holds text only, no {kind}")
            parts.append(part)
        object.__setattr__(self, "content", tuple(parts))

    @property
    def parts(self) -> tuple[ResultPart, ...]:
        """The content as parts, whether it was given as text or as parts."""
        return (Text(self.content),) if isinstance(self.content, str) else self.content

    @property
    def text(self) -> str:
        """The text of the result, without its images and other files."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if not isinstance(part, MediaPart) and part.text)


@dataclass(frozen=True, slots=True)
class HostedTool:
    """A tool that providers run themselves, described independently of their APIs.

    `extra` holds further fields of the declaration by provider. `secrets` are sent, but never shown or saved.
    """

    kind: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("options", "extra"):
            given = normalize_json(getattr(self, name), f"the `{name}` of tool `{self.kind}`")
            object.__setattr__(self, name, given)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The declaration of a tool for a model: name, description and the JSON Schema of its arguments.

    `native` is a provider's own declaration, for that provider only. `hosted` is set for a tool that
    providers run themselves.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    native: ProviderPayload | None = None
    hosted: HostedTool | None = None
    #: True if a provider runs this tool itself, such as a web search.
    is_provider_defined: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not _TOOL_NAME.match(sanitize_unicode(self.name)):
            raise ContentError(f"a tool name is a letter or _ and up to 63 of A-Z a-z 0-9 _ -, not {self.name!r}")
        parameters: object = self.parameters
        if not isinstance(parameters, dict) or self.parameters.get("type", "object") != "object":
            raise ContentError(f"the parameters of tool `{self.name}` are a JSON Schema of type object")
        clean_fields(self, "description")
        object.__setattr__(self, "parameters", normalize_json(self.parameters, f"the parameters of tool `{self.name}`"))
        native: object = self.native
        if native is not None and not isinstance(native, ProviderPayload):
            raise ContentError(
                f"the `native` of tool `{self.name}` is a `ProviderPayload(Origin(provider, api, model), declaration)`,"
                f" which says whose it is, not a {type(native).__name__}"
            )
        is_provider_defined = self.hosted is not None or (self.native is not None and not self.parameters)
        object.__setattr__(self, "is_provider_defined", is_provider_defined)

    @property
    def secret_texts(self) -> tuple[str, ...]:
        """The texts of its declaration that must never be shown."""
        return tuple(self.hosted.secrets.values()) if self.hosted else ()


@dataclass(frozen=True, slots=True)
class Update:
    """A change of the request head, at the position from which it applies.

    Providers that accept changes in the middle of a conversation are told here. For the others the head of
    the next request changes. `form` is the JSON Schema of answers, `{}` for plain text.
    """

    added: tuple[ToolSpec, ...] = ()
    removed: tuple[str, ...] = ()
    system: str | None = None
    effort: str | None = None
    form: dict[str, Any] | None = None


UserPart = Text | MediaPart | Chat | OpaquePart | Note | Update
AssistantPart = Text | Reasoning | ToolCall | ServerCall | ServerResult | OpaquePart


def extract_answer_text(parts: Iterable[AssistantPart]) -> str:
    """Return the text of an answer, without reasoning and calls.

    If a provider marks texts with a `phase`, only the last final answer counts; the others are commentary.
    """
    texts = [part for part in parts if isinstance(part, Text)]
    final = [part.text for part in texts if part.native and part.native.data.get("phase") == "final_answer"]
    return final[-1] if final else "".join([part.text for part in texts])


def collect_citations(parts: Iterable[AssistantPart]) -> tuple[Citation, ...]:
    """Return the sources that the texts of an answer cite, without duplicates."""
    return tuple(dict.fromkeys(each for part in parts if isinstance(part, Text) for each in part.citations))


def collect_sources(parts: Iterable[AssistantPart]) -> tuple[Citation, ...]:
    """Return the distinct sources of an answer, without positions: the cited ones, or else all found."""
    parts = tuple(parts)
    found = [each for part in parts if isinstance(part, ServerResult) for each in part.sources]
    cited = [each for part in parts if isinstance(part, Text) for each in part.citations] or found
    return tuple(dict.fromkeys(Citation(each.url, each.title) for each in cited if each.name))


def extract_reasoning(parts: Iterable[AssistantPart]) -> str:
    """Return the readable text of a model's reasoning."""
    return "\n\n".join(part.text for part in parts if isinstance(part, Reasoning) and part.text)
