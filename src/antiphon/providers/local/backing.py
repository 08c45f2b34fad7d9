"""Whether something is asked or said that only a tool could know.

A small model has no feeling for what it cannot know: it answers "what does notes.txt say?" from nothing, as gladly as
"what is 2 + 2?". So that is not left to it: words decide, and those of the tools decide which words count.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from antiphon._shape import arr, obj, string

_ENDINGS = (
    "txt|md|rst|py|pyi|js|mjs|ts|tsx|jsx|json|jsonl|toml|ya?ml|csv|tsv|html?|css|sh|bash|c|h|cc|cpp|hpp|rs|go|java|kt|rb|"
    "php|swift|lua|sql|ini|cfg|conf|env|log|xml|lock|pdf|ipynb|tex|vibe|svg|png|jpe?g|gguf|gitignore"
)
#: A file's name, or one that everybody calls by its first name.
_FILE = re.compile(
    rf"\b[\w-]+\.(?i:{_ENDINGS})\b|(?:^|\s)\.env\b"
    r"|\b(?:(?i:readme|changelog|makefile|dockerfile)|LICEN[CS]E|CONTRIBUTING|AUTHORS)\b"
)
_PATH = re.compile(r"(?:^|[\s\"'`(<@])(?:~|\.{1,2})?(?:/?[\w.-]+/)+[\w.-]*")
#: A name that only code has: `free_berths`, `MAX_ITEMS`, `withTax`, `TODO`.
_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w+|(?:TODO|FIXME)s?)\b")
_FENCED = re.compile(r"(?:\S+:\n)?(?P<fence>`{3,}).*?(?:(?P=fence)|\Z)", re.DOTALL)
#: Where something new is wanted, nothing need be looked at, unless it is named.
_MAKING = re.compile(
    r"^\W*(?:please|can you|could you|and|now)?\W*"
    r"(?:write|compose|draft|invent|make up|translate|calculate|compute|say)\b",
    re.IGNORECASE,
)
#: What everybody knows, by how it is asked: in numbers, of places, of the first in the world, of anything of a kind.
_COMMON = re.compile(
    r"^\W*(?i:what(?:'s| is| are)|how much is)\s+[\d(][\d\s.,+*/x×÷^()-]*\W*$"
    r"|\b(?i:the capital|the currency|the population|the president|the language) of (?:the )?[A-Z]"
    r"|\b(?i:the (?:\w+est|most \w+))\b.* (?:of|in|on) (?:[A-Z]|the (?:world|earth|universe|solar system|[A-Z]))"
    r"|^\W*(?i:how many \w+ (?:do|does|has|have|are there in|are in)|what(?:'s| is)) an? \w+"
    r"|^\W*(?i:who (?:painted|wrote|invented|discovered|composed)) (?:the )?[A-Z]"
    r"|^\W*(?i:what does) \S+ mean\b",
)
#: Questions about what is in a file, or how much of it, and those about files of that name anywhere.
_FACTUAL = re.compile(
    r"\bhow (?:many|much|long|large|big)\b"
    r"|\bwhat (?:does|do|did)\b.*\b(?:say|contain|define|return|list|import|print|hold|show|start|begin|end|mention)"
    r"|\bwhat(?:'s| is| are| was)\b.*\b(?:in|inside|of|from|on)\b"
    r"|\b(?:which|who|when|where)\b.*\b(?:in|inside|of|from)\b"
    r"|^\W*(?:(?:please|can you|could you)\W+)*(?:list|show|read|open|print|count|summari[sz]e|tell me)\b",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"\b(?:purpose|use[ds]?|meaning|mean|difference|format|role|syntax|examples?|should|typical(?:ly)?|usually|often"
    r"|generally|how (?:do|to|can|would))\b",
    re.IGNORECASE,
)
_ANY = re.compile(r"\b(?:an?|every|each|most)\s+$", re.IGNORECASE)
#: A longer request may have the file in it.
_LONGEST_QUESTION = 300
#: What does more than look, by the verb in a tool's name, and requests for that: an order that begins, or goes on.
_DOING = "write|edit|create|make|delete|remove|move|rename|append|replace|insert|update|patch|run|execute|save|set"
_DOER = re.compile(rf"(?:^|_)(?:{_DOING})(?:_|$)", re.IGNORECASE)
_ORDER = re.compile(
    r"(?:^|[.!?;:,\n]|\b(?:please|and|then|now|you|to|must|should))\W*"
    rf"(?:{_DOING}|add|put|change|fix|correct|convert|turn|format|sort|build|install|generate)\b",
    re.IGNORECASE,
)
#: Where files are looked for, those that are named need not be the ones to read.
_SEEKING = re.compile(
    r"\b(?:which|any|all|other) (?:\w+ )?(?:files?|places?)\b|^\W*(?:find|search|where|list)\b", re.IGNORECASE
)
_COUNTED = re.compile(r"\b(?:\d+|one|two|three|four|five|ten|first|last|newest|latest|lines?|levels?)\b", re.IGNORECASE)
#: Results that say that there is nothing: an error, or a remark alone, with or without brackets.
_EMPTY = re.compile(r"\s*(?:Error: |\[no[^\n]*\]\s*$|no (?:lines?|files?|match(?:es)?|commits?)\b[^\n]*\s*$|$)")
#: Tools that tell names, requests that want names, and those that say where.
_LISTER = re.compile(r"(?:^|_)(?:list|glob|ls|tree)(?:_|$)", re.IGNORECASE)
_NAMES = re.compile(
    r"\b(?:files?|modules?|scripts?)\b|\b(?:which|what|many|list|any) (?:sub)?(?:folders?|director(?:y|ies))\b"
    r"|\bwhat(?:'s| is| are) in\b|^\W*(?:list|find)\b",
    re.IGNORECASE,
)
_THINGS = re.compile(r"\b(?i:which|what|how many) (\w{3,})\b")
_PLACE = re.compile(r"\b(?:folders?|subfolders?|director(?:y|ies))\b|\bwhat(?:'s| is| are) in\b", re.IGNORECASE)
#: Files that are asked for by their kind, unless by what is in them: their names have a pattern.
_OF_A_KIND = re.compile(
    rf"\b(?:python|markdown|text|rust|javascript|typescript|shell|config|image|{_ENDINGS})[- ]files?\b",
    re.IGNORECASE,
)
_BY_CONTENT = re.compile(
    r"\b(?:contain|mention|use|import|define|declare|say|have|has|with|about)(?:s|ed|ing)?\b", re.IGNORECASE
)
#: A first line in brackets that says where to go on.
_MORE = re.compile(r"\[[^\n]*\bmore\b")
_MEANT = re.compile(r"\s*Error: there is no .*; did you mean (.*)\?\s*$")


@dataclass(frozen=True, slots=True)
class _Subject:
    """Something to look at: the words of tools that can, of requests that want it, and of answers that claim to have.

    `names` says whether paths and names of code are of this subject.
    """

    tools: re.Pattern[str]
    asked: re.Pattern[str]
    claimed: re.Pattern[str]
    names: bool = False


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


#: The first whose words a tool has is its own.
_SUBJECTS = (
    _Subject(
        _words("git|commits?|repository"),
        _words("git|commits?|committed|uncommitted|staged|untracked|branch(?:es)?|last change|(?:I|was|were) changed"),
        _words("commits?|(?:the|your) (?:branch|repository)|uncommitted"),
    ),
    _Subject(
        _words("current (?:date|time)"),
        _words(
            "what time|the time|what day|which day|today|what date|the date|right now|which year is it|what year is it"
        ),
        _words(r"today is|it is (?:now )?\d{1,2}[:.]\d\d|the (?:time|date) is|current (?:time|date)"),
    ),
    _Subject(
        _words("files?|folders?|director(?:y|ies)"),
        _words(
            "files?|folders?|subfolders?|director(?:y|ies)|(?:this|the|our|my) (?:project|package|code|codebase|"
            "program|app|application|server|script|tests?|module|config(?:uration)?|settings|docs|documentation|notes|"
            "data)|"
            "(?:the|which|what) (?:function|class|method|constant|variable)s?(?! of)|"
            "code ?base|source code|in the (?:code|docs|tests)|repo(?:sitory)?|dependenc(?:y|ies)|licen[cs]e|defined|"
            "declared|configured|according to|here"
        ),
        _words(
            "the (?:file|folder|director(?:y|ies)|code|project|readme|document|function|script)|(?:this|your) (?:file|"
            "folder|directory|project|code|repository)|files? (?:is|are|in|named|called|contains?)|I (?:have |'ve )?"
            "(?:read|looked|checked|searched|opened|listed|found)"
        ),
        names=True,
    ),
)


def to_look_with(request: str, tools: list[dict[str, Any]], is_first: bool = True) -> list[dict[str, Any]]:
    """The tools of which one must be called, because a request is about what only they can see; none if it is not.

    Whoever names a file wants it read, at first; where that failed, all that see files may find it. Tools that do more
    than look are for those who want something done, and files of a kind have names of a pattern.
    """
    said = _FENCED.sub(" ", request)
    about = [subject for subject in _of(tools) if _asks(subject, request, said)]
    fitting = [tool for tool in tools if _subject(tool) in about]
    if _ORDER.search(said):
        return fitting
    fitting = [tool for tool in fitting if not _DOER.search(string(tool.get("name")))]
    if is_first and _OF_A_KIND.search(said) and not _BY_CONTENT.search(said):
        return [tool for tool in fitting if is_listing(string(tool.get("name"))) and _needs(tool, "pattern")] or fitting
    if is_first and len(about) == 1 and about[0].names and _FILE.search(said) and not _SEEKING.search(said):
        return [tool for tool in fitting if _needs(tool, "path")] or fitting
    return fitting


def _needs(tool: dict[str, Any], argument: str) -> bool:
    return argument in arr(obj(tool.get("parameters")).get("required"))


def without_other_matters(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools but for those of git and the clock: whoever wants what they see says so."""
    return [tool for tool in tools if (about := _subject(tool)) is None or about.names]


def need_not_look(request: str, tools: list[dict[str, Any]]) -> bool:
    """Whether something new is wanted, or what everybody knows, and nothing that one of the tools can see."""
    said = _FENCED.sub(" ", request)
    is_asked = any(subject.asked.search(said) or (subject.names and _named(said)) for subject in _of(tools))
    return bool(_MAKING.search(said) or _COMMON.search(said)) and not is_asked


def of_other_kinds(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools of which it is not known what they look at."""
    return [tool for tool in tools if _subject(tool) is None]


def speaks_of_numbers(request: str) -> bool:
    """Whether a request says how many, or which in a row."""
    return bool(_COUNTED.search(_FENCED.sub(" ", request)))


def claims(answer: str, tools: list[dict[str, Any]]) -> bool:
    """Whether an answer speaks of what one of the tools can see, as if it had been seen."""
    return any(subject.claimed.search(answer) or (subject.names and _FILE.search(answer)) for subject in _of(tools))


def _asks(subject: _Subject, request: str, said: str) -> bool:
    if subject.names and _named(said):
        return True
    # What was sent along need not be looked at.
    return said == request and not _MAKING.search(said) and bool(subject.asked.search(said))


def _named(said: str) -> bool:
    return any(pattern.search(said) for pattern in (_FILE, _PATH, _IDENTIFIER))


def _of(tools: list[dict[str, Any]]) -> list[_Subject]:
    found = [_subject(tool) for tool in tools]
    return [subject for subject in _SUBJECTS if subject in found]


def _subject(tool: dict[str, Any]) -> _Subject | None:
    """What a tool looks at, by its name, else by what is said of it."""
    texts = (string(tool.get("name")).replace("_", " "), string(tool.get("description")))
    return next((subject for text in texts for subject in _SUBJECTS if subject.tools.search(text)), None)


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made, and what it brought."""

    name: str
    arguments: str
    result: str

    @property
    def found_nothing(self) -> bool:
        return bool(_EMPTY.match(self.result))

    @property
    def meant(self) -> list[str]:
        """The paths that may be meant, where there was nothing at the one that was named."""
        found = _MEANT.search(self.result)
        return re.findall("`([^`]+)`", found[1]) if found else []

    @property
    def has_more(self) -> bool:
        """Whether there is more than was shown, to be asked for by a number."""
        return bool(_MORE.match(self.result))

    @property
    def listed(self) -> list[str]:
        """The files that were only listed, by a tool that does no more than that."""
        lines = self.result.splitlines() if _LISTER.search(self.name) else []
        return [line for line in lines if line and not line.endswith(("/", "]", ")"))]


def calls_since(messages: list[dict[str, Any]]) -> list[Made]:
    """The calls that were made since the user last said something, with their results."""
    start = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=-1) + 1
    results = {string(m.get("tool_call_id")): string(m.get("content")) for m in messages[start:]}
    calls = [obj(call) for message in messages[start:] for call in arr(message.get("tool_calls"))]
    told = [(obj(call.get("function")), results.get(string(call.get("id")), "")) for call in calls]
    return [Made(string(each.get("name")), string(each.get("arguments")), result) for each, result in told]


def is_listing(name: str) -> bool:
    """Whether a tool tells the names of files and nothing that is in them."""
    return bool(_LISTER.search(name))


def wants_names(request: str, listed: str) -> bool:
    """Whether a request is about which files there are, so that their names are an answer.

    "Which recipes are in that folder?" is, if the paths that were listed speak of recipes.
    """
    said = _FENCED.sub(" ", request)
    things = [word.casefold().removesuffix("s") for word in _THINGS.findall(said)]
    return bool(_NAMES.search(said)) or any(thing in listed.casefold() for thing in things)


def names_a_file(request: str) -> bool:
    """Whether a request says which file, or a part of its path."""
    said = _FENCED.sub(" ", request)
    return any(pattern.search(said) for pattern in (_FILE, _PATH))


def unseen_file(messages: list[dict[str, Any]]) -> str:
    """Return the file whose content is asked about though nothing of it was told; empty, where there is none."""
    request = last_request(messages)
    told = "\n".join(string(message.get("content")) for message in messages)
    if len(request) > _LONGEST_QUESTION or _FENCED.search(told) or _MAKING.search(request) or _COMMON.search(request):
        return ""
    found = _FILE.search(request)
    if (
        found is None
        or not _FACTUAL.search(request)
        or _GENERAL.search(request)
        or _ANY.search(request[: found.start()])
    ):
        return ""
    name = found[0].strip()
    is_told = told.casefold().count(name.casefold()) > request.casefold().count(name.casefold())
    return "" if is_told else name


def names_a_place(request: str) -> bool:
    """Whether a request says where to look, or at files of what kind."""
    said = _FENCED.sub(" ", request)
    return any(pattern.search(said) for pattern in (_PLACE, _PATH, _FILE, _OF_A_KIND))


def names_unknown_files(answer: str, known: str) -> bool:
    """Whether an answer names a file of which nobody has spoken."""
    named = (found[0].strip().casefold() for found in _FILE.finditer(answer))
    return any(name not in known.casefold() for name in named)


def file_tools(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools that look at files, and do no more than look."""
    return [
        tool
        for tool in tools
        if (about := _subject(tool)) and about.names and not _DOER.search(string(tool.get("name")))
    ]


def last_request(messages: list[dict[str, Any]]) -> str:
    """What the user said last."""
    content = next((m.get("content") for m in reversed(messages) if m.get("role") == "user"), "")
    if isinstance(content, str):
        return content
    return "\n\n".join(string(obj(part).get("text")) for part in arr(content))


#: So much of an answer is looked at before it is handed on: small models claim things in their first sentences.
_HELD = 400


class Held:
    """The pieces of an answer that no call backs, held back until it is plain that it claims nothing."""

    def __init__(self, is_claim: Callable[[str], bool]) -> None:
        self._is_claim = is_claim
        self._pieces: list[dict[str, Any]] = []
        self._said = ""
        self._is_over = False

    def take(self, piece: dict[str, Any]) -> list[dict[str, Any]] | None:
        """What can be handed on now; nothing at all (`None`) where it must be asked again."""
        if self._is_over or "prompt_progress" in piece:
            return [piece]
        self._pieces.append(piece)
        choice = obj(next(iter(arr(piece.get("choices"))), None))
        delta = obj(choice.get("delta"))
        self._said += string(delta.get("content"))
        is_call = bool(arr(delta.get("tool_calls"))) or self._said.lstrip().startswith('{"tool"')
        is_whole = bool(choice.get("finish_reason")) or len(self._said) > _HELD or "error" in piece
        if not is_call and not is_whole:
            return []
        if not is_call and self._is_claim(self._said):
            return None
        self._is_over = True
        return self._pieces
