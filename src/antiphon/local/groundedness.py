"""Decides whether a request or an answer is about something that only a tool could know.

A small model does not know what it cannot know: it answers "what does notes.txt say?" without a
tool, as readily as "what is 2 + 2?". So patterns decide, and the tools determine which patterns
apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from antiphon._base.json_access import as_array, as_object, as_string

_FILE_SUFFIXES = (
    "txt|md|rst|py|pyi|js|mjs|ts|tsx|jsx|json|jsonl|toml|ya?ml|csv|tsv|html?|css|sh|bash|c|h|cc|cpp|hpp|rs|go|java|kt|rb|"
    "php|swift|lua|sql|ini|cfg|conf|env|log|xml|lock|pdf|ipynb|tex|vibe|svg|png|jpe?g|gguf|gitignore"
)
#: A file's name, or a common one without suffix.
_FILE_NAME = re.compile(
    rf"\b[\w-]+\.(?i:{_FILE_SUFFIXES})\b|(?:^|\s)\.env\b"
    r"|\b(?:(?i:readme|changelog|makefile|dockerfile)|LICEN[CS]E|CONTRIBUTING|AUTHORS)\b"
)
_PATH = re.compile(r"(?:^|[\s\"'`(<@])(?:~|\.{1,2})?(?:/?[\w.-]+/)+[\w.-]*")
#: A name that only code has: `free_berths`, `MAX_ITEMS`, `withTax`, `TODO`.
_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w+|(?:TODO|FIXME)s?)\b")
_FENCED = re.compile(r"(?:(?<!\S)\S+:\n)?(?P<fence>`{3,}).*?(?:(?P=fence)|\Z)", re.DOTALL)
#: Requests for something new need no tool, unless they name a file.
_CREATIVE_REQUEST = re.compile(
    r"^\W*(?:(?:please|can you|could you|and|now)\W+)?"
    r"(?:write|compose|draft|invent|make up|translate|calculate|compute|say)\b",
    re.IGNORECASE,
)
#: Questions of common knowledge: arithmetic, places, superlatives, properties of a kind.
_COMMON_KNOWLEDGE = re.compile(
    r"^\W*(?i:what(?:'s| is| are)|how much is)\s+[\d(][\d\s.,+*/x×÷^()-]*\W*$"
    r"|\b(?i:the capital|the currency|the population|the president|the language) of (?:the )?[A-Z]"
    r"|\b(?i:the (?:\w+est|most \w+))\b.* (?:of|in|on) (?:[A-Z]|the (?:world|earth|universe|solar system|[A-Z]))"
    r"|^\W*(?i:how many \w+ (?:do|does|has|have|are there in|are in)|what(?:'s| is)) an? \w+"
    r"|^\W*(?i:who (?:painted|wrote|invented|discovered|composed)) (?:the )?[A-Z]"
    r"|^\W*(?i:what does) \S+ mean\b",
)
#: Questions about the content of a file, and words of questions about such files in general.
_FILE_QUESTION = re.compile(
    r"\bhow (?:many|much|long|large|big)\b"
    r"|\bwhat (?:does|do|did)\b.*\b(?:say|contain|define|return|list|import|print|hold|show|start|begin|end|mention)"
    r"|\bwhat(?:'s| is| are| was)\b.*\b(?:in|inside|of|from|on)\b"
    r"|\b(?:which|who|when|where)\b.*\b(?:in|inside|of|from)\b"
    r"|^\W*(?:(?:please|can you|could you)\W+)*(?:list|show|read|open|print|count|summari[sz]e|tell me)\b",
    re.IGNORECASE,
)
_GENERAL_QUESTION = re.compile(
    r"\b(?:purpose|use[ds]?|meaning|mean|difference|format|role|syntax|examples?|should|typical(?:ly)?|usually|often"
    r"|generally|how (?:do|to|can|would))\b",
    re.IGNORECASE,
)
_ANY_OF_KIND = re.compile(r"\b(?:an?|every|each|most)\s+$", re.IGNORECASE)
#: A longer request may contain the file itself.
_MAX_QUESTION = 300
#: Verbs in names of tools that change something, and requests for that.
_WRITE_VERBS = (
    "write|edit|create|make|delete|remove|move|rename|append|replace|insert|update|patch|run|execute|save|set"
)
_WRITE_TOOL = re.compile(rf"(?:^|_)(?:{_WRITE_VERBS})(?:_|$)", re.IGNORECASE)
_WRITE_REQUEST = re.compile(
    r"(?:^|[.!?;:,\n]|\b(?:please|and|then|now|you|to|must|should))\W{0,20}"
    rf"(?:{_WRITE_VERBS}|add|put|change|fix|correct|convert|turn|format|sort|build|install|generate)\b",
    re.IGNORECASE,
)
#: Requests that search for files, in which named files need not be the ones to read.
_SEARCH_REQUEST = re.compile(
    r"\b(?:which|any|all|other) (?:\w+ )?(?:files?|places?)\b|\A\W*(?:find|search|where|list)\b", re.IGNORECASE
)
_NUMBER_WORDS = re.compile(
    r"\b(?:\d+|one|two|three|four|five|ten|first|last|newest|latest|lines?|levels?)\b", re.IGNORECASE
)
#: Results without a finding: an error, or only a remark.
_EMPTY_RESULT = re.compile(r"\s*(?:Error: |\[no[^\n]*\]\s*$|no (?:lines?|files?|match(?:es)?|commits?)\b[^\n]*\s*$|$)")
#: Tools that list names, requests for names, and requests that say where.
_LISTING_TOOL = re.compile(r"(?:^|_)(?:list|glob|ls|tree)(?:_|$)", re.IGNORECASE)
_NAME_REQUEST = re.compile(
    r"\b(?:files?|modules?|scripts?)\b|\b(?:which|what|many|list|any) (?:sub)?(?:folders?|director(?:y|ies))\b"
    r"|\bwhat(?:'s| is| are) in\b|^\W*(?:list|find)\b",
    re.IGNORECASE,
)
_REQUESTED_THING = re.compile(r"\b(?i:which|what|how many) (\w{3,})\b")
_PLACE_WORDS = re.compile(r"\b(?:folders?|subfolders?|director(?:y|ies))\b|\bwhat(?:'s| is| are) in\b", re.IGNORECASE)
#: Requests for files of a kind, found by a name pattern unless they ask about content.
_FILES_OF_KIND = re.compile(
    rf"\b(?:python|markdown|text|rust|javascript|typescript|shell|config|image|{_FILE_SUFFIXES})[- ]files?\b",
    re.IGNORECASE,
)
_CONTENT_VERBS = re.compile(
    r"\b(?:contain|mention|use|import|define|declare|say|have|has|with|about)(?:s|ed|ing)?\b", re.IGNORECASE
)
#: A first line in brackets that says how to get more.
_MORE_RESULTS = re.compile(r"\[[^\n]*\bmore\b")
_DID_YOU_MEAN = re.compile(r"(?<!\s)\s*Error: there is no [^\n]*; did you mean ([^\n]*)\?\s*\Z")


@dataclass(frozen=True, slots=True)
class _ToolSubject:
    """A subject of tools: patterns of tool texts, of requests for it, and of answers that claim to know
    it.

    `names` says whether paths and identifiers belong to this subject.
    """

    tools: re.Pattern[str]
    asked: re.Pattern[str]
    claimed: re.Pattern[str]
    names: bool = False


def _compile_words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


#: A tool belongs to the first subject whose words it has.
_SUBJECTS = (
    _ToolSubject(
        _compile_words("git|commits?|repository"),
        _compile_words(
            "git|commits?|committed|uncommitted|staged|untracked|branch(?:es)?|last change|(?:I|was|were) changed"
        ),
        _compile_words("commits?|(?:the|your) (?:branch|repository)|uncommitted"),
    ),
    _ToolSubject(
        _compile_words("current (?:date|time)"),
        _compile_words(
            "what time|the time|what day|which day|today|what date|the date|right now|which year is it|what year is it"
        ),
        _compile_words(r"today is|it is (?:now )?\d{1,2}[:.]\d\d|the (?:time|date) is|current (?:time|date)"),
    ),
    _ToolSubject(
        _compile_words("files?|folders?|director(?:y|ies)"),
        _compile_words(
            "files?|folders?|subfolders?|director(?:y|ies)|(?:this|the|our|my) (?:project|package|code|codebase|"
            "program|app|application|server|script|tests?|module|config(?:uration)?|settings|docs|documentation|notes|"
            "data)|"
            "(?:the|which|what) (?:function|class|method|constant|variable)s?(?! of)|"
            "code ?base|source code|in the (?:code|docs|tests)|repo(?:sitory)?|dependenc(?:y|ies)|licen[cs]e|defined|"
            "declared|configured|according to|here"
        ),
        _compile_words(
            "the (?:file|folder|director(?:y|ies)|code|project|readme|document|function|script)|(?:this|your) (?:file|"
            "folder|directory|project|code|repository)|files? (?:is|are|in|named|called|contains?)|I (?:have |'ve )?"
            "(?:read|looked|checked|searched|opened|listed|found)"
        ),
        names=True,
    ),
)


def select_required_tools(request: str, tools: list[dict[str, Any]], is_first: bool = True) -> list[dict[str, Any]]:
    """Return the tools of which one must be called for this request, or [] if it needs none.

    A named file must be read at first; after a failure, any file tool may find it. Tools that write are
    only for requests to change something. Files of a kind are found by a name pattern.
    """
    said = _FENCED.sub(" ", request)
    about = [subject for subject in _find_subjects(tools) if _is_about_subject(subject, request, said)]
    fitting = [tool for tool in tools if _classify_tool(tool) in about]
    if _WRITE_REQUEST.search(said):
        return fitting
    fitting = [tool for tool in fitting if not _WRITE_TOOL.search(as_string(tool.get("name")))]
    if is_first and _FILES_OF_KIND.search(said) and not _CONTENT_VERBS.search(said):
        return [
            tool
            for tool in fitting
            if is_listing_tool(as_string(tool.get("name"))) and _requires_argument(tool, "pattern")
        ] or fitting
    if is_first and len(about) == 1 and about[0].names and _FILE_NAME.search(said) and not _SEARCH_REQUEST.search(said):
        return [tool for tool in fitting if _requires_argument(tool, "path")] or fitting
    return fitting


def _requires_argument(tool: dict[str, Any], argument: str) -> bool:
    return argument in as_array(as_object(tool.get("parameters")).get("required"))


def drop_unrequested_subjects(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools without those of git and the clock, which a request has to mention."""
    return [tool for tool in tools if (about := _classify_tool(tool)) is None or about.names]


def needs_no_tool(request: str, tools: list[dict[str, Any]]) -> bool:
    """Return whether a request wants something new or common knowledge, and nothing that a tool can see."""
    said = _FENCED.sub(" ", request)
    is_asked = any(
        subject.asked.search(said) or (subject.names and _names_code_or_file(said)) for subject in _find_subjects(tools)
    )
    return bool(_CREATIVE_REQUEST.search(said) or _COMMON_KNOWLEDGE.search(said)) and not is_asked


def select_unclassified_tools(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools whose subject is unknown."""
    return [tool for tool in tools if _classify_tool(tool) is None]


def mentions_numbers(request: str) -> bool:
    """Return whether a request states a count or a position."""
    return bool(_NUMBER_WORDS.search(_FENCED.sub(" ", request)))


def claims_tool_knowledge(answer: str, tools: list[dict[str, Any]]) -> bool:
    """Return whether an answer states what only one of the tools could know."""
    return any(
        subject.claimed.search(answer) or (subject.names and _FILE_NAME.search(answer))
        for subject in _find_subjects(tools)
    )


def _is_about_subject(subject: _ToolSubject, request: str, said: str) -> bool:
    if subject.names and _names_code_or_file(said):
        return True
    # Content that was sent along needs no tool.
    return said == request and not _CREATIVE_REQUEST.search(said) and bool(subject.asked.search(said))


def _names_code_or_file(said: str) -> bool:
    return any(pattern.search(said) for pattern in (_FILE_NAME, _PATH, _IDENTIFIER))


def _find_subjects(tools: list[dict[str, Any]]) -> list[_ToolSubject]:
    found = [_classify_tool(tool) for tool in tools]
    return [subject for subject in _SUBJECTS if subject in found]


def _classify_tool(tool: dict[str, Any]) -> _ToolSubject | None:
    """Return the subject of a tool by its name, else by its description, or None."""
    texts = (as_string(tool.get("name")).replace("_", " "), as_string(tool.get("description")))
    return next((subject for text in texts for subject in _SUBJECTS if subject.tools.search(text)), None)


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call that was made, and its result."""

    name: str
    arguments: str
    result: str

    @property
    def found_nothing(self) -> bool:
        return bool(_EMPTY_RESULT.match(self.result))

    @property
    def meant(self) -> list[str]:
        """The paths that the result suggests in place of a missing one."""
        found = _DID_YOU_MEAN.search(self.result)
        return re.findall("`([^`]+)`", found[1]) if found else []

    @property
    def has_more(self) -> bool:
        """True if the result was truncated and more can be requested by number."""
        return bool(_MORE_RESULTS.match(self.result))

    @property
    def listed(self) -> list[str]:
        """The files that a listing tool returned."""
        lines = self.result.splitlines() if _LISTING_TOOL.search(self.name) else []
        return [line for line in lines if line and not line.endswith(("/", "]", ")"))]


def get_calls_since_request(messages: list[dict[str, Any]]) -> list[PastCall]:
    """Return the calls made since the user's last message, with their results."""
    start = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=-1) + 1
    results = {as_string(m.get("tool_call_id")): as_string(m.get("content")) for m in messages[start:]}
    calls = [as_object(call) for message in messages[start:] for call in as_array(message.get("tool_calls"))]
    told = [(as_object(call.get("function")), results.get(as_string(call.get("id")), "")) for call in calls]
    return [PastCall(as_string(each.get("name")), as_string(each.get("arguments")), result) for each, result in told]


def is_listing_tool(name: str) -> bool:
    """Return whether a tool lists names of files without their content."""
    return bool(_LISTING_TOOL.search(name))


def asks_for_names(request: str, listed: str) -> bool:
    """Return whether a request asks which files there are, so that names answer it.

    "Which recipes are in that folder?" does, if the listed paths mention recipes.
    """
    said = _FENCED.sub(" ", request)
    things = [word.casefold().removesuffix("s") for word in _REQUESTED_THING.findall(said)]
    return bool(_NAME_REQUEST.search(said)) or any(thing in listed.casefold() for thing in things)


def names_file(request: str) -> bool:
    """Return whether a request names a file or a part of its path."""
    said = _FENCED.sub(" ", request)
    return any(pattern.search(said) for pattern in (_FILE_NAME, _PATH))


def find_unseen_file(messages: list[dict[str, Any]]) -> str:
    """Return the file whose content is asked about although the conversation holds none of it, or ""."""
    request = get_last_request(messages)
    told = "\n".join(as_string(message.get("content")) for message in messages)
    if (
        len(request) > _MAX_QUESTION
        or _FENCED.search(told)
        or _CREATIVE_REQUEST.search(request)
        or _COMMON_KNOWLEDGE.search(request)
    ):
        return ""
    found = _FILE_NAME.search(request)
    if (
        found is None
        or not _FILE_QUESTION.search(request)
        or _GENERAL_QUESTION.search(request)
        or _ANY_OF_KIND.search(request[: found.start()])
    ):
        return ""
    name = found[0].strip()
    is_told = told.casefold().count(name.casefold()) > request.casefold().count(name.casefold())
    return "" if is_told else name


def names_place(request: str) -> bool:
    """Return whether a request says where to look, or which kind of files."""
    said = _FENCED.sub(" ", request)
    return any(pattern.search(said) for pattern in (_PLACE_WORDS, _PATH, _FILE_NAME, _FILES_OF_KIND))


def names_unknown_files(answer: str, known: str) -> bool:
    """Return whether an answer names a file that has not been mentioned."""
    named = (found[0].strip().casefold() for found in _FILE_NAME.finditer(answer))
    return any(name not in known.casefold() for name in named)


def select_file_readers(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools that read files and change nothing."""
    return [
        tool
        for tool in tools
        if (about := _classify_tool(tool)) and about.names and not _WRITE_TOOL.search(as_string(tool.get("name")))
    ]


def get_last_request(messages: list[dict[str, Any]]) -> str:
    """Return the user's last message."""
    content = next((m.get("content") for m in reversed(messages) if m.get("role") == "user"), "")
    if isinstance(content, str):
        return content
    return "\n\n".join(as_string(as_object(part).get("text")) for part in as_array(content))


#: Characters of an answer to check before it is emitted: small models make claims in their first sentences.
_CHECKED_LENGTH = 400


class ClaimFilter:
    """Buffer that holds back an answer without calls until it is clear that it claims nothing."""

    def __init__(self, is_claim: Callable[[str], bool]) -> None:
        self._is_claim = is_claim
        self._pieces: list[dict[str, Any]] = []
        self._said = ""
        self._is_released = False

    def take(self, piece: dict[str, Any]) -> list[dict[str, Any]] | None:
        """Return the pieces that can be emitted now, or None if the model must be asked again."""
        if self._is_released or "prompt_progress" in piece:
            return [piece]
        self._pieces.append(piece)
        choice = as_object(next(iter(as_array(piece.get("choices"))), None))
        delta = as_object(choice.get("delta"))
        self._said += as_string(delta.get("content"))
        is_call = bool(as_array(delta.get("tool_calls"))) or self._said.lstrip().startswith('{"tool"')
        is_whole = bool(choice.get("finish_reason")) or len(self._said) > _CHECKED_LENGTH or "error" in piece
        if not is_call and not is_whole:
            return []
        if not is_call and self._is_claim(self._said):
            return None
        self._is_released = True
        return self._pieces
