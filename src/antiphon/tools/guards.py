"""Guards: functions that see each call of a tool before it runs and its result, and may refuse or replace them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from antiphon.conversation import ToolResult
from antiphon.errors import OptionError
from antiphon.tools.worker_threads import call_function

if TYPE_CHECKING:
    from antiphon.tools.canonical_call import CanonicalCall


@dataclass(frozen=True, slots=True)
class DepsFunction:
    """A function of a definition, which may take the dependencies as its last parameter."""

    function: Callable[..., Any]
    takes_deps: bool

    @classmethod
    def of(cls, function: Callable[..., Any], arguments: int, role: str) -> DepsFunction:
        """Read whether a function of so many arguments takes the dependencies too. Raise an OptionError if neither."""
        if not callable(function):
            raise OptionError(f"{role} is a function, not {function!r:.80}")
        try:
            parameters = list(signature(function).parameters.values())
        except ValueError:
            # Some functions of C have no signature.
            return cls(function, False)
        places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        required = sum(each.default is each.empty for each in places)
        most = sys.maxsize if any(each.kind is each.VAR_POSITIONAL for each in parameters) else len(places)
        named = any(each.kind is each.KEYWORD_ONLY and each.default is each.empty for each in parameters)
        if named or required > arguments + 1 or most < arguments:
            counted = f"{arguments} argument{'s' * (arguments != 1)}" if arguments else "nothing"
            raise OptionError(f"{role} is a function of {counted}, and of the dependencies if it needs them")
        return cls(function, required == arguments + 1)

    @classmethod
    def read(cls, given: Any, arguments: int, role: str) -> tuple[DepsFunction, ...]:
        """Return the functions of an option, which is one function or several, or None."""
        functions = [] if given is None else cast(Sequence[Any], given) if isinstance(given, list | tuple) else [given]
        return tuple(cls.of(each, arguments, role) for each in functions)

    @property
    def name(self) -> str:
        """The name of the function in its source."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    async def call(self, *arguments: Any, deps: Any) -> Any:
        """Call the function, in a thread if it is synchronous."""
        return await call_function(self.function, *arguments, *([deps] if self.takes_deps else []))

    def make_return_error(self, role: str, expected: str, returned: object) -> OptionError:
        """Return the error for a value that a guard must not return."""
        return OptionError(f"`{self.name}` of `{role}` returns {expected}, not {returned!r:.60}; to refuse, raise")


@dataclass(frozen=True, slots=True)
class CallGuards:
    """Functions that are called before each call of a tool runs, and with its result."""

    before: tuple[DepsFunction, ...] = ()
    after: tuple[DepsFunction, ...] = ()

    @classmethod
    def of(cls, before_call: Any = None, after_call: Any = None) -> CallGuards:
        """Read the options `before_call` and `after_call`."""
        if before_call is None and after_call is None:
            return NO_GUARDS
        return cls(DepsFunction.read(before_call, 1, "`before_call`"), DepsFunction.read(after_call, 2, "`after_call`"))

    def __add__(self, others: CallGuards) -> CallGuards:
        return CallGuards((*self.before, *others.before), (*self.after, *others.after))

    async def check_call(self, call: CanonicalCall, deps: Any) -> None:
        """Let each guard judge a call before it runs. They raise to refuse it."""
        for guard in self.before:
            if (returned := await guard.call(call, deps=deps)) is not None:
                raise guard.make_return_error("before_call", "nothing", returned)

    async def check_result(self, call: CanonicalCall, result: ToolResult, deps: Any) -> ToolResult:
        """Return the result after all guards, each of which may replace it or raise."""
        for guard in self.after:
            returned = await guard.call(call, result, deps=deps)
            if isinstance(returned, str):
                result = ToolResult(result.call_id, returned, is_error=result.is_error)
            elif isinstance(returned, ToolResult):
                result = replace(returned, call_id=result.call_id)
            elif returned is not None:
                raise guard.make_return_error("after_call", "nothing, a text or a `ToolResult`", returned)
        return result


NO_GUARDS = CallGuards()
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps = TypeVar("Deps", default=Any)
    _Replacement = ToolResult | str | None
    #: Called with each call before it runs. A `ToolFailure` refuses it, and any other exception ends the run.
    BeforeCallHook = (
        Callable[[CanonicalCall], Awaitable[None] | None] | Callable[[CanonicalCall, Deps], Awaitable[None] | None]
    )
    #: Called with each call and its result, which it may replace.
    AfterCallHook = (
        Callable[[CanonicalCall, ToolResult], Awaitable[_Replacement] | _Replacement]
        | Callable[[CanonicalCall, ToolResult, Deps], Awaitable[_Replacement] | _Replacement]
    )
    BeforeCall = BeforeCallHook[Deps] | Sequence[BeforeCallHook[Deps]]
    AfterCall = AfterCallHook[Deps] | Sequence[AfterCallHook[Deps]]
