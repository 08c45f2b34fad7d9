"""The tree of all errors that Antiphon raises; a package in parentheses exports that class.

AntiphonError
├── ContentError             text, an image or arguments that no provider accepts
│   └── MalformedJSONError   bytes that are not valid JSON
├── PairingError             a tool result without its call, a second result, a duplicate call id
├── NotReadyError            a request while calls are open or nothing is left to answer
├── PrefixBroken             a prompt that does not extend the previous one, which `prefix="error"` forbids
├── CompactionError          a summary failed; nothing was changed
├── FormatError              a saved or foreign history that cannot be read
│   └── VersionError         a saved conversation of a version this release does not know
├── OptionError              an option that the chosen provider or model does not accept
│   └── OptionRefused        the server rejected the value of an option
├── ConfigurationError       an unknown provider, a missing key, a missing base URL
├── WeightsError             the file of a local model is unavailable or invalid
│   └── SourceFailed         one download source failed; the next one is tried
├── StoreError               the store of conversations cannot be read or written
│   ├── NotSavedError        no saved conversation has this id
│   └── StoreUnreachable     the database server of a journal is down; it may be back soon
├── ReplayMismatch           a request that differs from the recorded one (antiphon.providers)
├── ToolDefinitionError      a function that cannot be a tool (antiphon.tools)
├── InvalidArguments         arguments that do not match the tool's schema (antiphon.tools)
├── ToolFailure              a failed tool call, with a message for the model (antiphon.tools)
│   ├── NeedsHumanInput      a question to a person that the call depends on (antiphon.tools)
│   ├── PathNotFound         no such file or directory
│   ├── PathOutsideRoots     a path outside the permitted directories
│   └── McpServerUnreachable  an MCP server that does not answer
├── ScriptMismatch           a script of a fake that does not match what was asked (antiphon.fakes)
├── BudgetExceeded           a request or call beyond a limit (antiphon.effects)
├── EffectMismatch           an effect that differs from the one recorded at its path (antiphon.effects)
├── IndeterminateEffect      an effect that started and may or may not have completed (antiphon.effects)
├── SessionAborted           a run must stop, whatever its code catches
│   ├── ReplayDiverged       it asks for something other than last time (antiphon.durable)
│   ├── LeaseLost            another process owns the run, or has ended it
│   └── JournalFailed        its steps can no longer be written to the journal (antiphon.durable)
├── SecretMissing            an environment variable whose value has changed
├── SecretRefused            a message that contains what looks like a secret (antiphon.team)
├── RepositoryError          a failed operation in a git repository (antiphon.team)
├── RunInUse                 a run that another process owns
├── HistoryMismatch          a history of an AG-UI client that differs from the saved one
├── AnswerRestarted          the model answers again, so the items so far do not count (antiphon.session)
├── NoAnswer                 a run that ended without an answer (antiphon.session)
│   ├── NeedsHuman           a person is needed, and none is available (antiphon.session)
│   │   └── NeedsResults     calls wait for results from outside (antiphon.session)
│   ├── LimitReached         a limit forbids the next request (antiphon.session)
│   ├── ModelRefused         the model refused to answer (antiphon.session)
│   ├── Blocked              refused by a guard (antiphon.session)
│   ├── LoopDetected         the model repeats itself (antiphon.session)
│   ├── EmptyAnswer          neither an answer nor a call (antiphon.session)
│   ├── Truncated            cut off by the token limit (antiphon.session)
│   ├── NotDone              stopped by the provider before the answer was complete (antiphon.session)
│   ├── Cancelled            the run was cancelled (antiphon.session)
│   └── ReturnError          no value of the requested type (antiphon.session)
├── ProgramErrors            all errors in the text of a program (antiphon.lang)
├── VibeError                an error while a program ran (antiphon.lang.runtime)
│   ├── InputError           an invalid value for an input
│   ├── UserError            an error that the program threw and did not catch
│   ├── ProgramSuspended     a person is needed, and none answers
│   │   └── ProgramSleeping  the program resumes at a later time
│   └── ImportFailed         a module, package or server that cannot be imported
└── ProviderError            the provider or the connection to it failed
    ├── ConnectionFailed     no connection, or it broke
    │   └── StreamCut        a stream ended before its reply was complete
    ├── TimedOut             the server was silent for too long
    ├── CircuitOpen          a server that has failed too often is not asked for a while
    ├── AnswerTooLong        an answer of more bytes or seconds than `connect` allows
    ├── CredentialsFailed    no key or token could be fetched; nothing was sent
    ├── BadReply             an answer that violates the API's contract
    ├── UnknownStop          an answer with an unknown stop reason
    ├── ContinuationFailed   an answer that could not be continued to its end
    ├── BatchRefused         a batch of requests that the provider did not take, or did not process
    └── StatusError          an HTTP error status
        ├── RequestRejected  400, 413, 422: the request itself
        │   └── ContextOverflow  the conversation is too long for the model
        ├── AuthenticationFailed  401, 403
        ├── NotFound         404: no such model or address
        │   └── ContainerGone    the provider's container has expired, and its files with it
        ├── RateLimited      429
        ├── QuotaExceeded    429: a quota that does not reset soon
        ├── OutOfCredit      402, and other statuses with the same words
        └── ServerFailed     5xx, 529
"""

from __future__ import annotations

from typing import Any


class AntiphonError(Exception):
    """Base class of all errors that Antiphon raises on purpose.

    If the error ended a run, `run` records what the run used and said.
    """

    run: Any = None


class ContentError(AntiphonError, ValueError):
    """Text, an image or arguments that no provider accepts."""


class MalformedJSONError(ContentError):
    """Bytes that are not valid JSON."""


class PairingError(AntiphonError):
    """A tool result without its call, a second result for a call, or a call id used twice.

    `call_id` names the call.
    """

    def __init__(self, message: str, call_id: str) -> None:
        super().__init__(message)
        self.call_id = call_id


class NotReadyError(AntiphonError):
    """A request while calls are open or there is nothing to answer.

    If a reply came but no longer fits into the conversation, `reply` holds it.
    """

    reply: object = None


class PrefixBroken(AntiphonError):
    """A prompt does not extend the previous one, although `prefix="error"` requires it. Nothing was sent."""


class CompactionError(AntiphonError):
    """A summary failed, or nothing more can be dropped. The conversation is unchanged."""


class FormatError(AntiphonError):
    """A saved or foreign history that cannot be read."""


class VersionError(FormatError):
    """A saved conversation of a version this release does not know."""


class OptionError(AntiphonError, ValueError):
    """An option that the chosen provider or model does not accept."""


class OptionRefused(OptionError):
    """The server rejected the value of an option, and the request was not repeated without it.

    `fact` names what was learned about the model and `now` its value; `said` holds the server's message.
    """

    def __init__(self, message: str, *, fact: str = "", now: object = None, said: str = "") -> None:
        super().__init__(message)
        self.fact = fact
        self.now = now
        self.said = said


class ConfigurationError(AntiphonError):
    """An unknown provider, a missing key or a missing address."""


class WeightsError(AntiphonError):
    """The file of a local model is unavailable or invalid."""


class StoreError(AntiphonError):
    """The store of conversations cannot be opened, read or written. No partial write remains."""


class NotSavedError(StoreError):
    """No saved conversation has this id, or it is an ambiguous prefix."""


class StoreUnreachable(StoreError):
    """The database server of a journal is down or closed the connection. It may be back soon."""


class SessionAborted(AntiphonError):
    """A run must stop. Neither a program nor a tool may catch this and continue."""

    #: The option that `antiphon resume` needs to get past this error; empty if it needs none.
    option: str = ""


class LeaseLost(SessionAborted):
    """Another process took the run or cancelled it; this process can no longer write its effects."""


class RunInUse(AntiphonError):
    """A run that another process owns."""


class Suspended(Exception):
    """Raised by an effect that has no outcome yet, because it waits for a person or a point in time."""


class ProviderError(AntiphonError):
    """The provider or the connection to it failed. `provider` names it.

    If an unusable or partial reply came, `reply` holds it. `is_seen` tells whether a part of it was already
    passed to the caller.
    """

    reply: Any = None
    is_seen: bool = False

    def __init__(self, message: str, *, provider: str = "") -> None:
        super().__init__(message)
        self.provider = provider


class ConnectionFailed(ProviderError):
    """No connection could be made, or it broke."""


class StreamCut(ConnectionFailed):
    """A stream ended before its reply was complete. `partial` holds the text received so far."""

    def __init__(self, message: str, *, provider: str = "", partial: str = "") -> None:
        super().__init__(message, provider=provider)
        self.partial = partial


class TimedOut(ProviderError):
    """The server was silent for longer than `timeout`. It may still be working, so the request was not retried."""


class CircuitOpen(ProviderError):
    """The server has failed too often, so nothing is sent to it. `until` is when it may be asked again.

    That is in seconds since 1970.
    """

    def __init__(self, message: str, *, provider: str = "", until: float = 0.0) -> None:
        super().__init__(message, provider=provider)
        self.until = until


class AnswerTooLong(ProviderError):
    """An answer exceeded `max_bytes` or `max_seconds`. The request was not retried."""


class CredentialsFailed(ProviderError):
    """No key or token could be fetched, so nothing was sent. The cause is what the function raised."""


class BadReply(ProviderError):
    """The provider answered 200 with content that violates its API's contract."""


class UnknownStop(ProviderError):
    """An answer ended for a reason that this release does not know; `word` is the provider's name for it.

    The answer may be incomplete, so it is not added to the conversation. `reply` holds it.
    """

    def __init__(self, message: str, *, provider: str = "", word: str = "", reply: Any = None) -> None:
        super().__init__(message, provider=provider)
        self.word = word
        self.reply = reply


class ContinuationFailed(ProviderError):
    """An answer that came in several steps could not be continued to its end.

    `reply` holds the complete steps, `partial` all of their text, including the text of an interrupted step.
    """

    def __init__(self, message: str, *, provider: str = "", partial: str = "", reply: Any = None) -> None:
        super().__init__(message, provider=provider)
        self.partial = partial
        self.reply = reply


class StatusError(ProviderError):
    """An HTTP error status, with the provider's message in `text`."""

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
    """400, 413 or 422: the request itself is invalid."""


class ContextOverflow(RequestRejected):
    """The conversation is too long for the model; `Conversation.compact` makes it shorter.

    `tokens` is its size and `limit` what fits, where the provider says so.
    """

    tokens: int | None = None
    limit: int | None = None


class AuthenticationFailed(StatusError):
    """401 or 403: the key is missing, wrong or lacks permission."""


class NotFound(StatusError):
    """404: no such model, or no such address."""


class ContainerGone(NotFound):
    """404: the container of the provider's tools has expired; its files are lost."""


class BatchRefused(ProviderError):
    """The provider did not take a batch of requests, or processed none of them."""


class RateLimited(StatusError):
    """429: too many requests or tokens."""


class QuotaExceeded(StatusError):
    """429: a quota of the account or of the day is exhausted; retrying soon does not help."""


class OutOfCredit(StatusError):
    """The account has no credit left, reported as 402, or as 400 or 403 with such a message."""


class ServerFailed(StatusError):
    """5xx and 529: the provider failed or is overloaded."""
