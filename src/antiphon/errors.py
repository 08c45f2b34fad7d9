"""Every error that Antiphon raises, as one tree; behind those that another package exports, which one it is.

AntiphonError
├── ContentError             text, an image or arguments that no provider takes
│   └── MalformedJSONError   bytes that are not the JSON they should be
├── PairingError             a tool result without its call, a second result, a call used twice
├── NotReadyError            a request was asked for while calls are open or nothing is left to answer
├── PrefixBroken             a prompt that does not begin with the one before it, where that is an error
├── CompactionError          a summary failed; nothing was changed
├── FormatError              a saved or foreign history that cannot be read
│   └── VersionError         a saved conversation of a version this release does not know
├── OptionError              an option the chosen provider or model does not take
│   └── OptionRefused        the server refused what an option asked for
├── ConfigurationError       no such provider, no key, no base URL
├── WeightsError             a local model's file that cannot be had, or is not what it should be
│   └── SourceFailed         one of the places it comes from did not give it; the next is asked
├── StoreError               the store of conversations cannot be read or written
│   ├── NotSavedError        no saved conversation has this id
│   └── StoreUnreachable     the server of a journal is not there; it may be back soon
├── ReplayMismatch           a request that is not the one recorded (antiphon.providers)
├── ToolDefinitionError      a function that cannot be a tool (antiphon.tools)
├── InvalidArguments         arguments that do not fit the tool they are for (antiphon.tools)
├── ToolFailure              what a tool could not do, in words for the model (antiphon.tools)
│   ├── Pause                a question to a person, for which the call waits (antiphon.tools)
│   ├── Missing              no such file or directory
│   ├── Outside              a path that leads out of the directories that may be used
│   └── Unreachable          an MCP server that does not answer
├── OverBudget               a request beyond what all together may use (antiphon.effects)
├── DifferentEffect          something else than was recorded at its place (antiphon.effects)
├── HalfDone                 an effect of which it is not known whether it took effect (antiphon.effects)
├── Halted                   a run may do nothing more, whatever its code catches
│   ├── Changed              it asks for something else than the last time (antiphon.journal)
│   ├── TakenOver            somebody else goes on with it, or has ended it (antiphon.journal)
│   └── JournalFailed        what it does can no longer be written down (antiphon.journal)
├── NotThere                 a value of the environment that is not what it was
├── SecretRefused            a message that holds what looks like a secret (antiphon.agents)
├── RepositoryError          what could not be done in a git repository (antiphon.agents)
├── OverCap                  a request beyond what a team may spend
├── InCircles                an agent that does the same again and again
├── Unfinished               a run that somebody else is at (antiphon.journal)
├── Differs                  a history of an AG-UI client that is not the one that is saved
├── NoAnswer                 a run that ended without an answer (antiphon.session)
│   ├── Waiting              a person is needed, and nobody is there (antiphon.session)
│   ├── LimitReached         a limit leaves no room for more (antiphon.session)
│   ├── Refused              the model refused to answer (antiphon.session)
│   ├── Stuck                the model repeats itself (antiphon.session)
│   ├── Empty                neither an answer nor a call (antiphon.session)
│   ├── Truncated            cut off by the token limit (antiphon.session)
│   ├── NotDone              stopped by the provider before the answer was done (antiphon.session)
│   ├── Cancelled            somebody ended it (antiphon.session)
│   └── ReturnError          no value of the type that was asked for (antiphon.session)
├── ProgramErrors            all that is wrong with the text of a program (antiphon.lang)
├── VibeError                what went wrong while a program ran (antiphon.lang.run)
│   ├── InputError           a value from outside that is not what an input wants
│   ├── Thrown               what the program itself threw, and nobody caught
│   ├── NobodyThere          a person is needed, and nobody answers
│   │   └── Asleep           it goes on when it is time
│   └── ImportFailed         a module, package or server that cannot be imported
└── ProviderError            the provider, or the way to it, failed
    ├── ConnectionFailed     no connection, or it broke
    │   └── StreamCut        a stream ended before its reply was complete
    ├── TimedOut             the server was silent for too long
    ├── AnswerTooLong        an answer of more bytes or seconds than `connect` allows
    ├── BadReply             an answer that is not what the API promises
    ├── UnknownStop          an answer that ended for a reason nobody knows
    ├── ContinuationFailed   an answer that could not be continued to its end
    └── StatusError          an HTTP status that says no
        ├── RequestRejected  400, 413, 422: the request itself
        │   └── ContextOverflow  the conversation is too long for the model
        ├── AuthenticationFailed  401, 403
        ├── NotFound         404: no such model or address
        │   └── ContainerGone    the provider's container has expired, and its files with it
        ├── RateLimited      429
        ├── QuotaExceeded    429: a quota that does not come back soon
        ├── OutOfCredit      402, and other statuses with the same words
        └── ServerFailed     5xx, 529
"""

from __future__ import annotations

from typing import Any


class AntiphonError(Exception):
    """The root: catching it catches everything this package raises on purpose.

    Where it ended a run, `run` says what that had used and said.
    """

    run: Any = None


class ContentError(AntiphonError, ValueError):
    """Text, an image or arguments that no provider takes."""


class MalformedJSONError(ContentError):
    """Bytes that are not the JSON they should be."""


class PairingError(AntiphonError):
    """A tool result without its call, a second result for a call, or a call id used twice.

    `call_id` names the call.
    """

    def __init__(self, message: str, call_id: str) -> None:
        super().__init__(message)
        self.call_id = call_id


class NotReadyError(AntiphonError):
    """A request was asked for while calls are open or there is nothing to answer.

    Where a reply came but no longer fits into the conversation, `reply` holds it.
    """

    reply: object = None


class PrefixBroken(AntiphonError):
    """A prompt does not begin with the one before it, and `prefix="error"` forbids that; nothing was sent."""


class CompactionError(AntiphonError):
    """A summary failed, or nothing more can be left out; the conversation is as it was."""


class FormatError(AntiphonError):
    """A saved or foreign history that cannot be read."""


class VersionError(FormatError):
    """A saved conversation of a version this release does not know."""


class OptionError(AntiphonError, ValueError):
    """An option the chosen provider or model does not take."""


class OptionRefused(OptionError):
    """The server refused what an option asked for, so the request was not sent again without it.

    `fact` names what was learned about the model and `now` its value; `said` holds the server's words.
    """

    def __init__(self, message: str, *, fact: str = "", now: object = None, said: str = "") -> None:
        super().__init__(message)
        self.fact = fact
        self.now = now
        self.said = said


class ConfigurationError(AntiphonError):
    """No such provider, no key for it, or no address."""


class WeightsError(AntiphonError):
    """The file of a local model cannot be had, or is not what it should be."""


class StoreError(AntiphonError):
    """The store of conversations cannot be opened, read or written; nothing half-done is left in it."""


class NotSavedError(StoreError):
    """No saved conversation has this id, or several begin with it."""


class StoreUnreachable(StoreError):
    """The server of a journal is not there, or has ended the connection; it may be back soon."""


class Halted(AntiphonError):
    """A run may do nothing more. Neither a program nor a tool turns this into something that it goes on with."""

    #: What `antiphon runs resume` has to be told so that the run gets further; nothing, where it need not be.
    option: str = ""


class Unsettled(Exception):
    """Raised while performing an effect that has no outcome yet, because somebody, or a time, is waited for."""


class ProviderError(AntiphonError):
    """The provider, or the way to it, failed. `provider` names it.

    Where a reply came that cannot be used, or a part of one, `reply` holds it. `is_seen` says whether a part of it was
    handed on while it came.
    """

    reply: Any = None
    is_seen: bool = False

    def __init__(self, message: str, *, provider: str = "") -> None:
        super().__init__(message)
        self.provider = provider


class ConnectionFailed(ProviderError):
    """No connection could be made, or it broke."""


class StreamCut(ConnectionFailed):
    """A stream ended before its reply was complete. `partial` holds the text that had come."""

    def __init__(self, message: str, *, provider: str = "", partial: str = "") -> None:
        super().__init__(message, provider=provider)
        self.partial = partial


class TimedOut(ProviderError):
    """The server was silent for longer than `timeout`; it may still be working, so it was not asked again."""


class AnswerTooLong(ProviderError):
    """An answer of more than `max_bytes`, or that took more than `max_seconds`; it was not asked for again."""


class BadReply(ProviderError):
    """The provider answered 200 with something its API does not promise."""


class UnknownStop(ProviderError):
    """An answer ended for a reason that this release does not know; `word` is the provider's word for it.

    The answer may be incomplete, so it is not added to the conversation. `reply` holds it.
    """

    def __init__(self, message: str, *, provider: str = "", word: str = "", reply: Any = None) -> None:
        super().__init__(message, provider=provider)
        self.word = word
        self.reply = reply


class ContinuationFailed(ProviderError):
    """An answer that came in several steps could not be continued to its end.

    `reply` holds the steps that came, `partial` all of their text, with what had come of a step that broke off.
    """

    def __init__(self, message: str, *, provider: str = "", partial: str = "", reply: Any = None) -> None:
        super().__init__(message, provider=provider)
        self.partial = partial
        self.reply = reply


class StatusError(ProviderError):
    """An HTTP status that says no, with the provider's own words in `text`."""

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        status: int = 0,
        request_id: str = "",
        text: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, provider=provider)
        self.status = status
        self.request_id = request_id
        self.text = text
        self.retry_after = retry_after


class RequestRejected(StatusError):
    """400, 413 or 422: the request itself is not acceptable."""


class ContextOverflow(RequestRejected):
    """The conversation is too long for the model; `Conversation.compact` makes it shorter.

    `tokens` is its size and `limit` what fits, where the provider says so.
    """

    tokens: int | None = None
    limit: int | None = None


class AuthenticationFailed(StatusError):
    """401 or 403: the key is missing, wrong or not allowed to do this."""


class NotFound(StatusError):
    """404: no such model, or no such address."""


class ContainerGone(NotFound):
    """404: the container of the provider's tools has expired; its files are lost."""


class RateLimited(StatusError):
    """429: too many requests or tokens."""


class QuotaExceeded(StatusError):
    """429: a quota of the account or of the day is used up; asking again soon is of no use."""


class OutOfCredit(StatusError):
    """The account has no credit left, said with 402, or with 400 or 403 in words."""


class ServerFailed(StatusError):
    """5xx and 529: the provider failed or is overloaded."""
