"""Instrumentation: what observes sessions and performed effects, such as tracing. Replayed effects are not observed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from antiphon.effects.pipeline import EffectCall, EffectContext
    from antiphon.effects.types import Outcome


@dataclass(frozen=True, slots=True)
class ObservedSession:
    """Work of this process on a session: a message of an agent, or a program.

    `name` is that of the agent, or of the program's file.
    """

    operation: Literal["invoke_agent", "invoke_workflow"]
    name: str
    context: EffectContext

    @property
    def id(self) -> str:
        """The id of the session; empty if it is not saved."""
        return self.context.run

    @property
    def trace_seed(self) -> str:
        """A text that is the same in all processes that work on the session, and unique; empty if it is not saved."""
        return next((seed for each in self.context.performers if (seed := each.get_trace_seed())), "")


class Instrumentation:
    """Base class of instrumentation. It observes nothing; subclasses override what they need."""

    def session(self, session: ObservedSession) -> AbstractContextManager[object]:
        """Return a context for the work on a session. An error that ends the work is raised through it."""
        del session
        return nullcontext()

    def effect(self, call: EffectCall) -> AbstractContextManager[Callable[[Outcome], object]]:
        """Return a context in which an effect is performed. It yields a function for the outcome."""
        del call
        return nullcontext(_ignore_outcome)

    def stream_listener(self) -> Callable[[str], object] | None:
        """Return a function that receives the streamed text of the model request of the current context."""


def _ignore_outcome(_: Outcome) -> None:
    """Ignore an outcome."""


#: The instrumentation of this process.
installed: Instrumentation | None = None


def install(instrumentation: Instrumentation | None) -> None:
    """Observe sessions and effects from now on with this instrumentation, or with none."""
    global installed
    installed = instrumentation


def observe_session(
    operation: Literal["invoke_agent", "invoke_workflow"], name: str, context: EffectContext
) -> AbstractContextManager[object]:
    """Return a context in which the work on a session is observed, if there is instrumentation."""
    return nullcontext() if installed is None else installed.session(ObservedSession(operation, name, context))
