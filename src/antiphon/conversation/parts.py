"""What turns are made of: text, images, chat, reasoning, tool calls and results, and what only one provider knows."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from antiphon._json import clean, dumps, loads, well_formed
from antiphon.conversation.attribution import HUMAN, attributed
from antiphon.errors import ContentError, MalformedJSONError
from antiphon.results import Result

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
_AUTHOR = re.compile(r"@?[A-Za-z0-9_.-]{1,64}\Z")
_ALPHABET = string.digits + string.ascii_letters


def _clean(value: object, *names: str) -> None:
    """Make these texts of a value such that they can be sent and kept; what is not text is refused."""
    for name in names:
        text = getattr(value, name)
        if (cleaned := clean(text)) is not text:
            object.__setattr__(value, name, cleaned)


@dataclass(frozen=True, slots=True)
class Origin:
    """Who produced something opaque: only the same provider, API and model gets it back."""

    provider: str
    api: str
    model: str

    def __post_init__(self) -> None:
        _clean(self, "provider", "api", "model")


@dataclass(frozen=True, slots=True)
class Native:
    """A provider's own JSON for a part, kept as it came, for the way back to where it came from."""

    origin: Origin
    data: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", well_formed(self.data, "a provider's own data"))


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that a provider names: a web page, or a file that has a title alone.

    On a `Text`, `start` and `end` are the characters that it supports; without them it supports the whole text.
    `quote` is what the source says.
    """

    url: str = ""
    title: str = ""
    quote: str = ""
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        _clean(self, "url", "title", "quote")

    @property
    def name(self) -> str:
        """Return the title with the address, or the one that there is."""
        return f"{self.title} ({self.url})" if self.title and self.url else self.title or self.url


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text of a user, a model or a tool. Never empty where a person or program adds it.

    `citations` are the sources that a provider names for a model's text.
    """

    text: str
    native: Native | None = None
    citations: tuple[Citation, ...] = ()

    def __post_init__(self) -> None:
        _clean(self, "text")


@dataclass(frozen=True, slots=True)
class Image:
    """An image as base64 `data` with its `media_type`, or as a `url` the provider fetches."""

    data: str = ""
    media_type: str = ""
    url: str = ""
    native: Native | None = None

    def __post_init__(self) -> None:
        _clean(self, "media_type", "url")
        if bool(self.data) == bool(self.url):
            raise ContentError("an image has either `data` (base64) or a `url`")
        if self.data and not self.media_type.startswith("image/"):
            raise ContentError(f"an image's `media_type` looks like 'image/png', not {self.media_type!r}")
        if self.data:
            try:
                binascii.a2b_base64(self.data.encode(), strict_mode=True)
            except (binascii.Error, UnicodeEncodeError) as error:
                raise ContentError(f"an image's `data` is base64: {error}; see `Image.from_bytes`") from None

    @classmethod
    def from_bytes(cls, content: bytes, media_type: str) -> Image:
        """An image from its file's bytes."""
        return cls(data=base64.b64encode(content).decode(), media_type=media_type)


@dataclass(frozen=True, slots=True)
class Chat:
    """What another agent said in a chat of several, with its author's name.

    Models see it as `[Chat from @coder-2]: …`, each further line marked, so that no text can pass for anybody else's.
    """

    author: str
    text: str

    def __post_init__(self) -> None:
        # ASCII alone: a name in letters that look alike would be another's name to whoever reads it.
        if not _AUTHOR.match(self.author):
            raise ContentError(
                f"a chat author is a name of letters, digits, `_`, `.` and `-`, such as '@coder-2', not {self.author!r}"
            )
        name = "@" + self.author.removeprefix("@")
        if name.lower() == HUMAN:
            raise ContentError(f"{self.author!r} is the human's name; what the human says is `Text`, without an author")
        object.__setattr__(self, "author", name)
        _clean(self, "text")

    @property
    def attributed(self) -> str:
        """The text as models see it."""
        return attributed(self.author, self.text)


#: Why a note is there: the form of an answer, a reminder of it, variables of a program, or an instruction.
NoteKind = Literal["form", "reminder", "variables", "instruction", "interruption"]


@dataclass(frozen=True, slots=True)
class Note:
    """Text that the program itself says to the model, not a person.

    It stays where it was said, so that later requests begin with earlier ones. Views and transcripts leave it out.
    """

    text: str
    kind: NoteKind

    def __post_init__(self) -> None:
        _clean(self, "text")
        if self.kind not in get_args(NoteKind):
            raise ContentError(f"the kind of a note is one of {', '.join(get_args(NoteKind))}, not {self.kind!r}")
        if not self.text.strip():
            raise ContentError("a note is empty: no provider takes empty text")


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's thinking. `native` holds its signed or encrypted form; without one it is never sent back.

    `bound` is the hash of everything that stood before it when it was made: some models refuse it behind anything else.
    """

    text: str
    native: Native | None = None
    bound: str = ""

    def __post_init__(self) -> None:
        _clean(self, "text", "bound")


@dataclass(frozen=True, slots=True)
class Foreign:
    """A block only its own API understands; other providers are shown `text` instead, if there is any.

    A model's own block has no `text` but what the model said in it: words in its place would be taken for the model's.
    """

    native: Native
    text: str = ""

    def __post_init__(self) -> None:
        _clean(self, "text")


@dataclass(frozen=True, slots=True)
class ServerCall:
    """A call that the provider runs itself, such as a web search. It needs no result from here.

    `tool` is our name for the tool (`web_search`, `web_fetch`, `code_execution`, `file_search`, `mcp`, `tool_search`),
    else the provider's. `native` goes back to the provider that made it; other models are told of what was found.
    """

    id: str
    tool: str
    input: dict[str, Any] = field(default_factory=dict[str, Any])
    status: str = ""
    native: Native | None = None

    def __post_init__(self) -> None:
        _clean(self, "id", "tool", "status")
        object.__setattr__(self, "input", well_formed(self.input, f"the input of server call {self.id!r}"))


@dataclass(frozen=True, slots=True)
class ServerResult:
    """The result of a provider's own call: its sources, the beginning of its text, and the names of its files.

    `native` is `None` where the provider keeps call and result in one block, which the call then holds.
    """

    call_id: str
    sources: tuple[Citation, ...] = ()
    text: str = ""
    files: tuple[str, ...] = ()
    native: Native | None = None

    def __post_init__(self) -> None:
        _clean(self, "call_id", "text")
        object.__setattr__(self, "files", tuple([clean(name) for name in self.files]))


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool.

    `problem` says why the call must not be run (cut off by the token limit, arguments that are no JSON object); it is
    `None` for a good call. The arguments recorded are those at construction.
    """

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    problem: str | None = None
    native: Native | None = None
    arguments_json: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not _ID.match(clean(self.id)):
            raise ContentError(f"a call id is 1 to 40 of A-Z a-z 0-9 _ -, not {self.id!r}")
        if not _NAME.match(clean(self.name)):
            raise ContentError(f"a tool name is a letter or _ and up to 63 of A-Z a-z 0-9 _ -, not {self.name!r}")
        arguments: object = self.arguments
        if not isinstance(arguments, Mapping):
            raise ContentError(f"the arguments of call {self.id!r} are an object, not {type(self.arguments).__name__}")
        if self.problem is not None:
            _clean(self, "problem")
        if not self.arguments_json:
            what = f"the arguments of call {self.id!r} to `{self.name}`"
            object.__setattr__(self, "arguments_json", dumps(self.arguments, what))
            # What is recorded is what is sent, and does not change with the object it was made of.
            object.__setattr__(self, "arguments", loads(self.arguments_json, what))

    @classmethod
    def read(
        cls, id: str, name: str, arguments: object, *, truncated: bool = False, native: Native | None = None
    ) -> ToolCall:
        """A call as a model sent it, which may be anything.

        `arguments` is JSON text or an object. What cannot be read is kept under `_malformed`, so that nothing is lost
        and nobody runs the tool with empty arguments by mistake. An id that is not legal everywhere is replaced.
        """
        value, spelling, problem = _read_arguments(arguments)
        legal = name
        if not is_legal_name(name):
            legal = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64].lstrip("-0123456789") or "_"
            problem = f"there is no tool named {name[:80]!r}"
        if truncated:
            problem = "cut off by the token limit before its arguments were complete"
        return cls(legal_id(id), legal, value, problem, native, spelling)


def _read_arguments(arguments: object) -> tuple[dict[str, Any], str, str | None]:
    """The arguments as an object, the text they came as where that can go out again, and what is wrong with them."""
    value: object = arguments
    spelling = ""
    try:
        if isinstance(arguments, str):
            value = loads(arguments.strip() or "{}", "the argument text")
            # An escaped surrogate may be a lone one, which `loads` has replaced.
            spelling = "" if "\\ud" in arguments.lower() else arguments.strip()
        if isinstance(value, dict):
            readable = cast(dict[str, Any], value)
            dumps(readable, "the arguments")
            return readable, spelling, None
        return {"_malformed": value}, "", f"the arguments are a JSON object, not {dumps(value)[:40]}"
    except MalformedJSONError as error:
        return {"_malformed": clean(str(arguments))}, "", str(error)
    except ContentError as error:
        return {"_malformed": f"a {type(arguments).__name__}"}, "", str(error)


def is_legal_name(name: str) -> bool:
    """Return True if every provider takes the name of a tool."""
    return _NAME.match(name) is not None


def legal_id(id: str) -> str:
    """The id itself where every provider but Mistral takes it, else a short one that depends on it alone."""
    return id if _ID.match(id) else short_id(id)


def short_id(id: str) -> str:
    """Nine letters and digits, the form every provider takes, made from the id alone."""
    number = int.from_bytes(hashlib.sha256(id.encode("utf-8", "replace")).digest()[:8], "big")
    return "".join(_ALPHABET[number // 62**place % 62] for place in range(9))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered to one call: text, or text and images. An error result holds text only.

    `name` matters only to `auto_assistant_tool_calls`, which must invent the call. `handle` names the whole of a
    result that was cut; `Conversation.whole` returns it. `semantic` is what the tool returned for people to look at;
    models see only `content`.
    """

    call_id: str
    content: str | tuple[Text | Image | Foreign, ...]
    is_error: bool = False
    name: str = field(default="", compare=False)
    native: Native | None = None
    handle: str = ""
    semantic: Result | None = None

    def __post_init__(self) -> None:
        _clean(self, "call_id", "handle")
        content: object = self.content
        if isinstance(content, str):
            object.__setattr__(self, "content", clean(content))
            return
        if not isinstance(content, list | tuple):
            kind = type(content).__name__
            raise ContentError(f"the result of call {self.call_id!r} is text or a list of parts, not {kind}")
        parts: list[Text | Image | Foreign] = []
        for part in cast(Sequence[object], content):
            part = Text(part) if isinstance(part, str) else part
            if not isinstance(part, Text | Image | Foreign):
                kind = type(part).__name__
                raise ContentError(f"the result of call {self.call_id!r} holds text and images, not {kind}")
            if self.is_error and isinstance(part, Image):
                raise ContentError(f"the error result of call {self.call_id!r} holds text only, no image")
            parts.append(part)
        object.__setattr__(self, "content", tuple(parts))

    @property
    def parts(self) -> tuple[Text | Image | Foreign, ...]:
        """The content as parts, whichever way it was given."""
        return (Text(self.content),) if isinstance(self.content, str) else self.content

    @property
    def text(self) -> str:
        """The text of the result, without its images."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if not isinstance(part, Image) and part.text)


@dataclass(frozen=True, slots=True)
class HostedTool:
    """A tool that providers run themselves, in words that hold for all of them; each API writes it in its own.

    `extra` holds further fields of the declaration by provider. `secrets` are sent, and never shown or saved.
    """

    kind: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("options", "extra"):
            given = well_formed(getattr(self, name), f"the `{name}` of tool `{self.kind}`")
            object.__setattr__(self, name, given)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it: name, description and the JSON Schema of its arguments.

    `native` is a provider's own declaration of it, for that provider alone. `hosted` is one that each provider which
    has such a tool runs itself.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    native: Native | None = None
    hosted: HostedTool | None = None

    def __post_init__(self) -> None:
        if not _NAME.match(clean(self.name)):
            raise ContentError(f"a tool name is a letter or _ and up to 63 of A-Z a-z 0-9 _ -, not {self.name!r}")
        parameters: object = self.parameters
        if not isinstance(parameters, dict) or self.parameters.get("type", "object") != "object":
            raise ContentError(f"the parameters of tool `{self.name}` are a JSON Schema of type object")
        _clean(self, "description")
        object.__setattr__(self, "parameters", well_formed(self.parameters, f"the parameters of tool `{self.name}`"))
        native: object = self.native
        if native is not None and not isinstance(native, Native):
            raise ContentError(
                f"the `native` of tool `{self.name}` is a `Native(Origin(provider, api, model), declaration)`,"
                f" which says whose it is, not a {type(native).__name__}"
            )

    @property
    def secret_texts(self) -> tuple[str, ...]:
        """The texts of its declaration that nobody is shown."""
        return tuple(self.hosted.secrets.values()) if self.hosted else ()

    @property
    def is_provider_defined(self) -> bool:
        """Whether this is no function but something a provider runs itself, such as a web search."""
        return self.hosted is not None or (self.native is not None and not self.parameters)


@dataclass(frozen=True, slots=True)
class Update:
    """A change of what stands at the head of a request, at the place from which it holds.

    Providers that can be told of a change in the middle of a conversation are told here; for the others the head of
    the next request changes. `form` is the JSON Schema of answers, `{}` for plain text.
    """

    added: tuple[ToolSpec, ...] = ()
    removed: tuple[str, ...] = ()
    system: str | None = None
    effort: str | None = None
    form: dict[str, Any] | None = None


UserPart = Text | Image | Chat | Foreign | Note | Update
AssistantPart = Text | Reasoning | ToolCall | ServerCall | ServerResult | Foreign


def text_of(parts: Iterable[AssistantPart]) -> str:
    """Return the text of an answer, without reasoning and calls.

    Where a provider marks texts with a `phase`, only the last final answer counts; the others are commentary.
    """
    texts = [part for part in parts if isinstance(part, Text)]
    final = [part.text for part in texts if part.native and part.native.data.get("phase") == "final_answer"]
    return final[-1] if final else "".join([part.text for part in texts])


def citations_of(parts: Iterable[AssistantPart]) -> tuple[Citation, ...]:
    """Return the sources that the texts of an answer name, each once."""
    return tuple(dict.fromkeys(each for part in parts if isinstance(part, Text) for each in part.citations))


def sources_of(parts: Iterable[AssistantPart]) -> tuple[Citation, ...]:
    """Return the sources of an answer, each once and without places: those that it cites, else all that were found."""
    parts = tuple(parts)
    found = [each for part in parts if isinstance(part, ServerResult) for each in part.sources]
    cited = citations_of(parts) or found
    return tuple(dict.fromkeys(Citation(each.url, each.title) for each in cited if each.name))


def reasoning_of(parts: Iterable[AssistantPart]) -> str:
    """The readable part of a model's thinking."""
    return "\n\n".join(part.text for part in parts if isinstance(part, Reasoning) and part.text)
