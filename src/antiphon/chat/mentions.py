"""Files and directories mentioned in messages: `@notes.md`, `@src/`, `@long.txt:100-200`, `@"a b.txt"`.

The built-in tools read them, with the same restrictions. Their texts follow the message, which stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from antiphon._base.code_fences import fence_text
from antiphon._base.did_you_mean import suggest_name
from antiphon.conversation import Image, Text, UserPart
from antiphon.conversation.media_types import detect_type
from antiphon.errors import ContentError
from antiphon.tools.file_sandbox import SandboxRoots
from antiphon.tools.path_resolution import PathNotFound, quote_path
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    from antiphon.wire import Target

#: An @ after a letter belongs to a mail address, and one in backquotes is code.
_MENTION = re.compile(
    r"""(?<![\w.+\-/@`\\])@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>(?!@)(?:\\[ ]|[^\s"'`<>|,;])+))""", re.ASCII
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LINES = re.compile(r"(?P<path>.+):(?P<first>\d{1,9})(?:-(?P<last>\d{0,9}))?")
_TRAILING_SIGNS = ".:!?)]}*_("
_LARGEST_IMAGE = 20_000_000
#: Suffixes that mark a mention as a file, unlike other words with an @ and a dot.
_FILE_SUFFIXES = re.compile(
    "bat|c|cc|cfg|conf|cpp|cs|css|csv|cxx|diff|docx?|env|gif|go|gz|h|hpp|html?|ini|ipynb|java|jpe?g|jsonl?|jsx?|kt|lock"
    "|log|lua|mdx?|mjs|patch|pdf|php|pl|png|proto|ps1|pyi?|r|rb|rs|rst|scss|sh|sql|svg|swift|tar|tex|toml|tsv|tsx?|txt"
    "|vibe|vue|webp|xlsx?|xml|ya?ml|zig|zip",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ExpandedMessage:
    """A message with the mentioned files. `notes` describe them for the user."""

    parts: tuple[UserPart, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Mention:
    """A mentioned path and the requested lines."""

    path: str
    first: int = 1
    last: int | None = None


def expand_mentions(
    said: str, agrees: Callable[[str], bool], target: Target | None, root: str = "."
) -> ExpandedMessage:
    """Return a message with the contents of mentioned files. A missing or unreadable file is a ContentError.

    `agrees` is called before a file is sent that looks like a secret.
    """
    roots = SandboxRoots([root])
    found = dict.fromkeys(_find_mentions(said, roots))
    parts: list[UserPart] = [Text(said)]
    notes: list[str] = []
    for mention in found:
        try:
            part, note = _read_mention(roots, mention, agrees, target)
        except PathNotFound as error:
            raise ContentError(f"nothing was sent: {error}{_suggest_path(roots, mention.path)}") from None
        except ToolFailure as error:
            raise ContentError(f"nothing was sent: {error}") from None
        parts.append(part)
        notes.append(note)
    return ExpandedMessage(tuple(parts), tuple(notes))


def extract_headline(text: str) -> str:
    """Return the name and length of an expanded file; empty for typed text."""
    found = re.match(r"(@\S.*):\n(`{3,})\n(?s:.*)\n\2\Z", text)
    return found[1] if found else ""


def _find_mentions(said: str, roots: SandboxRoots) -> Iterator[_Mention]:
    code = [found.span() for found in _CODE.finditer(said)]
    for found in _MENTION.finditer(said):
        if any(start <= found.start() < end for start, end in code):
            continue
        if found["quoted"] is not None:
            yield next(_interpret_mention(found["quoted"], roots), _Mention(found["quoted"]))
            continue
        written = found["plain"].replace("\\ ", " ")
        shorter = [written[:end] for end in range(len(written), 0, -1) if not written[end:].strip(_TRAILING_SIGNS)]
        there = next((each for short in shorter for each in _interpret_mention(short, roots)), None)
        if there is not None:
            yield there
        elif not written.partition("(")[1] and _looks_like_path(written.rstrip(_TRAILING_SIGNS), roots):
            yield _Mention(written.rstrip(_TRAILING_SIGNS))


def _interpret_mention(written: str, roots: SandboxRoots) -> Iterator[_Mention]:
    """Yield the interpretation of a mention that exists: a path, or a path with lines."""
    if _is_existing(roots, written):
        yield _Mention(written)
    elif (lines := _LINES.fullmatch(written)) and _is_existing(roots, lines["path"]):
        first = max(int(lines["first"]), 1)
        last = first if lines["last"] is None else int(lines["last"]) if lines["last"] else None
        yield _Mention(lines["path"], first, last)


def _is_existing(roots: SandboxRoots, path: str) -> bool:
    try:
        with roots.locate(path):
            return True
    except ToolFailure:
        return False


def _looks_like_path(written: str, roots: SandboxRoots) -> bool:
    """Return whether a missing mention must be a path; `@decorator`, `@app.get` and `@scope/name` are not."""
    path = lines["path"] if (lines := _LINES.fullmatch(written)) else written
    if path.startswith(("./", "../", "/", "~/")) or path.endswith("/"):
        return len(path) > 1
    ending = path.rpartition("/")[2].rpartition(".")
    if ending[0] and _FILE_SUFFIXES.fullmatch(ending[2]):
        return True
    return "/" in path and _is_existing(roots, path.partition("/")[0])


def _read_mention(
    roots: SandboxRoots, mention: _Mention, agrees: Callable[[str], bool], target: Target | None
) -> tuple[UserPart, str]:
    if roots.is_secret_path(mention.path) and not agrees(f"{mention.path} may hold secrets. Send it to the model?"):
        raise ToolFailure(f"{quote_path(mention.path)} may hold secrets, and nobody agreed to send it")
    with roots.locate(mention.path) as place:
        is_directory = place.kind == "directory"
        image = None if is_directory else _read_image(place.open())
    if image is not None:
        return _check_image(image, mention.path, target), f"with {mention.path}, an image"
    from antiphon.tools.builtin.files import file_tools

    tools = {tool.name: tool for tool in file_tools(roots)}
    if is_directory:
        result, name = tools["list_files"](mention.path), f"{mention.path.rstrip('/')}/"
        about = f"{name}, {result.semantic.summary}"
    else:
        result = tools["read_file"](mention.path, mention.first, mention.last)
        about = result.semantic.summary
    return Text(f"@{about}:\n{fence_text(result.text)}"), f"with {about}{_describe_remainder(mention, result.text)}"


def _read_image(stream: BinaryIO) -> Image | None:
    with stream:
        start = stream.read(16)
        if not detect_type(start).startswith("image/"):
            return None
        data = start + stream.read(_LARGEST_IMAGE)
        if len(data) > _LARGEST_IMAGE:
            raise ToolFailure(f"the image has more than {_LARGEST_IMAGE // 1_000_000} MB, which no provider takes")
        return Image.from_bytes(data)


def _check_image(image: Image, path: str, target: Target | None) -> Image:
    from antiphon.wire.media import find_media_problem

    if target is not None and (reason := find_media_problem(image, target)):
        raise ToolFailure(f"{quote_path(path)} cannot be shown to {target.provider}/{target.model}: {reason}")
    return image


def _suggest_path(roots: SandboxRoots, path: str) -> str:
    """Return a hint with a similar path, or how to write a word that is not a path."""
    directory, _, name = path.rstrip("/").rpartition("/")
    try:
        with roots.locate(directory or ".") as place:
            meant = suggest_name(name, (entry.parts[-1] for entry in place.walk(1)))
    except ToolFailure:
        meant = None
    if meant is None:
        return f"; if it is not a file, write `` `@{path}` ``"
    return f"; did you mean `@{directory + '/' if directory else ''}{meant}`?"


def _describe_remainder(mention: _Mention, text: str) -> str:
    """Return a hint for the user how to send the rest of a cut file."""
    found = re.match(r"\[[^\n]*more from start_line=(\d+)", text)
    return f"; `@{mention.path}:{found[1]}-` sends what follows" if found and mention.last is None else ""
