"""What `antiphon ask` asks: words, files, standard input, and the type of the answer."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from antiphon.errors import ContentError, OptionError

if TYPE_CHECKING:
    from antiphon.conversation import Image


def question(words: Sequence[str], files: Sequence[str]) -> tuple[str, list[Image]]:
    """The text to ask and the images that go with it: the words, then text files, then standard input."""
    texts = [" ".join(words).strip()]
    images: list[Image] = []
    for path in files:
        found = _read(path)
        if isinstance(found, str):
            texts.append(f"{path}:\n{_fenced(found)}")
        else:
            images.append(found)
    texts.append(_standard_input())
    text = "\n\n".join(each for each in texts if each.strip())
    if not text:
        raise OptionError('there is no question: `antiphon ask "…"`, or `echo … | antiphon ask`')
    return text, images


def wanted_type(text: str) -> Any:
    """A type of the language, such as `{name: text, age: number}`, as Python's; what is wrong with it is an error."""
    from antiphon.lang.check.scopes import Scope
    from antiphon.lang.check.state import Checker
    from antiphon.lang.check.written_types import meaning
    from antiphon.lang.run.tooling import python_type
    from antiphon.lang.syntax.diagnostics import ProgramErrors
    from antiphon.lang.syntax.parser import parse_type
    from antiphon.lang.syntax.source import Source

    source = Source("--returns", text)
    node, unread = parse_type(source)
    checker = Checker(source, Scope())
    found = None if unread else meaning(checker, node)
    if faults := [*unread, *checker.diagnostics]:
        raise ProgramErrors((source, each) for each in faults)
    wanted = None if found is None else python_type(found)
    if wanted is None:
        raise OptionError("`--returns null` asks for nothing; name the type of the answer")
    return wanted


def _standard_input() -> str:
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return ""
    try:
        data = sys.stdin.buffer.read()
    except OSError as error:
        raise ContentError(f"standard input cannot be read: {error.strerror or error}") from None
    if b"\0" in data:
        raise ContentError("standard input is no text; `--file` sends images along")
    return data.decode("utf-8-sig", "replace").strip("\n")


def _read(path: str) -> str | Image:
    from antiphon.talks.images import image_of

    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        raise ContentError(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}") from None
    if (image := image_of(data)) is not None:
        return image
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ContentError(f"{path!r} is neither text (UTF-8) nor an image (PNG, JPEG, GIF, WebP)")
    return text


def _fenced(text: str) -> str:
    """The text between fences that are longer than any in it."""
    longest = max((len(found) for found in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"
