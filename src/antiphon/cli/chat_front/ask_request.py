"""What is asked: words, what is piped in, what goes along, and the type of the answer."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from antiphon.errors import ContentError, OptionError

if TYPE_CHECKING:
    from antiphon.chat.attachments import Attachment

#: What is attached by this name comes by standard input.
_PIPED = "-"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked and how: what the command line says, and for what it does not say, the template."""

    text: str = ""
    attachments: Sequence[Attachment] = ()
    model: str | None = None
    system: str | None = None
    #: A bundle of tools; besides them files of one's own, and MCP servers.
    tools: str | None = None
    own: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    #: The type of the answer: as it is written, or where it is declared.
    returns: str | None = None
    schema: str | None = None
    extract: bool = False


#: What the command line says of a question besides its words; a chat has no types.
_SAID = ("model", "system", "tools", "own", "mcp", "returns", "schema", "extract")


def said(given: Mapping[str, Any]) -> Question:
    """What the command line says of a question besides its words."""
    from antiphon.chat.request_options import parse_options

    return Question(**{name: given[name] for name in _SAID if name in given}, options=parse_options(given["options"]))


def asked(said: Question, words: Sequence[str], attached: Sequence[str]) -> Question:
    """A question of words, of what comes by standard input, and of what goes along: its texts are part of the words."""
    piped = "" if _PIPED in attached else _piped_text()
    attachments = _attachments(attached)
    text = _joined(" ".join(words), piped, *(each.text for each in attachments))
    return replace(said, text=text, attachments=attachments)


def check_prompt(question: Question) -> None:
    """Without any words it is none."""
    if not question.text.strip():
        raise OptionError('there is no question: `antiphon ask "…"`, or `echo … | antiphon ask`')


def resolve_answer_type(returns: str | None, schema: str | None) -> Any:
    """The type of the answer, if one is wanted."""
    if schema is not None:
        from antiphon.chat.output_schema import load_output_type

        return load_output_type(schema)
    return None if returns is None else _written_type(returns)


def _written_type(text: str) -> Any:
    """A type of the language, such as `{name: text, age: number}`, as Python's; what is wrong with it is an error."""
    from antiphon.lang import parse_type_text
    from antiphon.lang.runtime.tools_and_types import to_python_type

    wanted = to_python_type(parse_type_text(text, name="--returns"))
    if wanted is None:
        raise OptionError("`--returns null` asks for nothing; name the type of the answer")
    return wanted


def _attachments(attached: Sequence[str]) -> list[Attachment]:
    if not attached:
        return []
    from antiphon.chat.attachments import fetch_attachment, is_web_url, make_attachment, read_attachment

    if attached.count(_PIPED) > 1:
        raise OptionError("standard input can be attached once: `-a -`")
    return [
        make_attachment("standard input", _piped())
        if each == _PIPED
        else fetch_attachment(each)
        if is_web_url(each)
        else read_attachment(each)
        for each in attached
    ]


def _piped() -> bytes:
    """What is attached by way of standard input."""
    if not _is_piped():
        raise OptionError("`-a -` is what comes by standard input, and nothing does: `cat FILE | antiphon ask … -a -`")
    from antiphon.chat.attachments import MAX_ATTACHMENT_BYTES

    try:
        return sys.stdin.buffer.read(MAX_ATTACHMENT_BYTES + 1)
    except OSError as error:
        raise ContentError(f"standard input cannot be read: {error.strerror or error}") from None


def _piped_text() -> str:
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
            f"standard input has more than {MAX_ATTACHMENT_BYTES // 1_000_000} MB, which no provider takes"
        )
    if kind := detect_binary_kind(data):
        raise ContentError(f"standard input is {kind}, not text in UTF-8; `-a -` sends images and PDFs along")
    try:
        return data.decode("utf-8-sig").strip("\n")
    except UnicodeDecodeError as error:
        from antiphon.cli.chat_front.output import print_message

        line = data.count(b"\n", 0, error.start) + 1
        print_message(
            f"standard input is not UTF-8 at line {line}: `\ufffd` replaces invalid bytes; `iconv` converts it"
        )
        return data.decode("utf-8-sig", "replace").strip("\n")


def _is_piped() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()


def _joined(*texts: str) -> str:
    return "\n\n".join(each.strip() if n == 0 else each for n, each in enumerate(texts) if each.strip())
