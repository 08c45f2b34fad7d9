"""A request of `ask` or `chat`: prompt, piped input, attachments, options and answer type."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from antiphon.errors import ContentError, OptionError

if TYPE_CHECKING:
    from antiphon.chat.attachments import Attachment
    from antiphon.lang.typecheck.types import Type

#: The attachment name of standard input.
_STDIN = "-"


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A prompt and its options, from the command line and then from a template."""

    text: str = ""
    attachments: Sequence[Attachment] = ()
    model: str | None = None
    system: str | None = None
    #: A set of built-in tools; and Python files and MCP servers with further ones.
    tools: str | None = None
    own: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    #: The type of the answer: as text, or as the place of its declaration.
    returns: str | None = None
    schema: str | None = None
    extract: bool = False


#: The options of a request; those for types are missing in a chat.
_OPTION_NAMES = ("model", "system", "tools", "own", "mcp", "returns", "schema", "extract")


def read_request(given: Mapping[str, Any]) -> AskRequest:
    """Return the request that the command-line options describe, without a prompt."""
    from antiphon.chat.request_options import parse_options

    return AskRequest(
        **{name: given[name] for name in _OPTION_NAMES if name in given}, options=parse_options(given["options"])
    )


def add_prompt(said: AskRequest, words: Sequence[str], attached: Sequence[str]) -> AskRequest:
    """Return the request with its prompt: the arguments, standard input, and texts of attachments."""
    piped = "" if _STDIN in attached else _read_piped_text()
    attachments = _read_attachments(attached)
    text = _join_texts(" ".join(words), piped, *(each.text for each in attachments))
    return replace(said, text=text, attachments=attachments)


def check_prompt(question: AskRequest) -> None:
    """Raise an error if the prompt is empty."""
    if not question.text.strip():
        raise OptionError('the prompt is empty; use `antiphon ask "…"` or `echo … | antiphon ask`')


def resolve_answer_type(returns: str | None, schema: str | None) -> Any:
    """Return the type of the answer; `None` for text."""
    if schema is not None:
        from antiphon.chat.output_schema import load_output_type

        return load_output_type(schema)
    return None if returns is None else _parse_type(returns)


def _parse_type(text: str) -> Any:
    """Return the Python type for a type of the language, such as `{name: text, age: number}`."""
    from antiphon.lang import parse_type_text
    from antiphon.lang.runtime.tools_and_types import to_python_type
    from antiphon.lang.syntax.diagnostics import ProgramErrors

    if not text.strip():
        raise OptionError("`--returns` is empty; name the type of the answer, as in '{name: text}'")
    try:
        type_ = parse_type_text(text, name="--returns")
    except ProgramErrors as errors:
        if text.isidentifier() and not (errors.found[0][1].hint or "").startswith("write "):
            raise OptionError(
                f"`--returns`: there is no type `{text}`; write it out, as in '{{name: text}}', or name a declared one "
                f"with `--schema models.py:{text}`"
            ) from None
        if _FIELDS.match(text):
            raise OptionError(f"`--returns`: fields stand in braces: '{{{text}}}'") from None
        raise
    _refuse_quoted_types(type_)
    wanted = to_python_type(type_)
    if wanted is None:
        raise OptionError("`--returns null` has no value; name the type of the answer")
    return wanted


#: Fields without the braces around them.
_FIELDS = re.compile(r"\s*\w+\s*:")
#: Words for types that users of JSON quote, and the types of the language.
_TYPE_BY_WORD = {
    **dict.fromkeys(("string", "str", "text"), "text"),
    **dict.fromkeys(("number", "integer", "int", "float", "double"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list"), "text[]"),
    **dict.fromkeys(("object", "dict"), "{name: text}"),
    "null": "null",
}


def _refuse_quoted_types(type_: Type) -> None:
    """Raise an OptionError for a quoted word such as `"string"`, which means this very text, not a type.

    As one of several, as in `"text" | "image"`, it is meant.
    """
    from antiphon.lang.typecheck import types as t

    match type_:
        case t.Object() if {"type", "properties"} <= type_.fields.keys():
            raise OptionError(
                "`--returns` takes a type such as '{name: text}', and this is a JSON Schema; save it in a file and "
                "name that with `--schema FILE`"
            )
        case t.Object():
            for each in type_.fields.values():
                _refuse_quoted_types(each.type)
        case t.Array():
            _refuse_quoted_types(type_.item)
        case t.Literal(value=str(word)) if word.lower() in _TYPE_BY_WORD:
            raise OptionError(
                f'`--returns`: "{word}" in quotes is the answer itself, not its type; write '
                f"`{_TYPE_BY_WORD[word.lower()]}` without quotes, as in '{{name: text}}'"
            )
        case _:
            pass


def _read_attachments(attached: Sequence[str]) -> list[Attachment]:
    if not attached:
        return []
    from antiphon.chat.attachments import fetch_attachment, is_web_url, make_attachment, read_attachment

    if attached.count(_STDIN) > 1:
        raise OptionError("standard input can be attached only once; use one `-a -`")
    return [
        make_attachment("standard input", _read_attached_input())
        if each == _STDIN
        else fetch_attachment(each)
        if is_web_url(each)
        else read_attachment(each)
        for each in attached
    ]


def _read_attached_input() -> bytes:
    """Return the bytes of standard input, as an attachment."""
    if not _is_piped():
        raise OptionError("`-a -` attaches standard input, which is a terminal; use `cat FILE | antiphon ask … -a -`")
    from antiphon.chat.attachments import MAX_ATTACHMENT_BYTES

    try:
        return sys.stdin.buffer.read(MAX_ATTACHMENT_BYTES + 1)
    except OSError as error:
        raise ContentError(f"standard input cannot be read: {error.strerror or error}") from None


def _read_piped_text() -> str:
    if not _is_piped():
        return ""
    from antiphon.chat.attachments import MAX_ATTACHMENT_BYTES

    try:
        data = sys.stdin.buffer.read(MAX_ATTACHMENT_BYTES + 1)
    except OSError as error:
        raise ContentError(f"standard input cannot be read: {error.strerror or error}") from None
    from antiphon.tools.builtin.text_files import detect_binary_kind

    if len(data) > MAX_ATTACHMENT_BYTES:
        raise ContentError(
            f"standard input has more than {MAX_ATTACHMENT_BYTES // 1_000_000} MB, more than any provider accepts"
        )
    if kind := detect_binary_kind(data):
        raise ContentError(f"standard input is {kind}, not UTF-8 text; attach images and PDFs with `-a -`")
    try:
        return data.decode("utf-8-sig").strip("\n")
    except UnicodeDecodeError as error:
        from antiphon.cli.output import print_message

        line = data.count(b"\n", 0, error.start) + 1
        print_message(
            f"standard input is not UTF-8 at line {line}: `\ufffd` replaces invalid bytes; `iconv` converts it"
        )
        return data.decode("utf-8-sig", "replace").strip("\n")


def _is_piped() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()


def _join_texts(*texts: str) -> str:
    return "\n\n".join(each.strip() if n == 0 else each for n, each in enumerate(texts) if each.strip())
