"""Asking: a question from a place of the program, what the model is shown with it, and what becomes history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import Halted
from antiphon.lang.compile.code import Site
from antiphon.lang.run import context
from antiphon.lang.run.errors import RoundStopped, Stopped, VibeError
from antiphon.lang.run.execution import Execution
from antiphon.lang.run.models import ModelValue
from antiphon.lang.run.questions import halted, waits
from antiphon.lang.run.threads import State
from antiphon.lang.run.tooling import VibeTool, python_type
from antiphon.lang.run.values import text
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from antiphon.conversation import Conversation

_SUMMARY = "Sum up what happened in this part of a conversation, in a few sentences that keep every fact needed later."


def ask(execution: Execution, site: Site, prompt: str, model: ModelValue | None, depth: int) -> AIResult:
    """Ask a model from a place of the program; `depth` frames up is the program's own."""
    from antiphon.lang.run.history import ends_open, with_turns, without_private

    state = execution.state
    chosen = model or (execution.default_model() if site.says_model else state.model or execution.default_model())
    history = _shown_history(site, state)
    conversation = history.fork()
    conversation.system = str(chosen.settings.get("system", ""))
    shown = "" if site.context == "none" else _variables(execution, site, depth + 1)
    if shown:
        conversation.add_user(shown)
    returns = None if site.wanted is None else python_type(site.wanted)
    tools = [_as_tool(each) for each in _flat(chosen.settings.get("tools", ()))]
    session = execution.host.session(chosen, conversation, tools)
    result = _answer(execution, session, prompt, "do" if site.kind == "do" else "vibe", returns)
    if site.context != "none":
        happened: Iterable[Any] = conversation.turns[max(0, len(history.turns) - (ends_open(history))) :]
        before = history.turns[-1] if ends_open(history) else None
        if site.hidden:
            happened, before = without_private(site.hidden, prompt, result), None
        kept = {} if site.hidden else conversation.kept
        state.history = with_turns(state.history, happened, before, shown, kept)
    if model is not None:
        state.model = model
    return result


def _answer(execution: Execution, session: Any, prompt: str, mode: Any, returns: Any) -> AIResult:
    """What the model answers. Streamed even where nobody looks: a recording fits wherever it is played."""
    from antiphon.session import Cancelled, LimitReached, NoAnswer, ReturnError, Waiting
    from antiphon.session.portal import current_scope

    scope = current_scope()
    if scope is not None and scope.cancelled:
        raise RoundStopped()
    with execution.run_of(execution.state).active():
        run = session.start(prompt, mode=mode, returns=returns)
    if scope is not None:
        scope.add(run.cancel)
    try:
        return run.wait()
    except KeyboardInterrupt:
        run.cancel()
        run.wait(raises=False)
        raise
    except Cancelled:
        raise RoundStopped() from None
    except Halted as error:
        raise halted(error) from error
    except Waiting as error:
        raise waits(str(error), "run it in a terminal, or allow it: `--yes`") from error
    except LimitReached as error:
        if _is_over_budget(error):
            raise Stopped(VibeError("V0922", str(error))) from error
        raise VibeError("V0922", f"the model gave no answer: {error}") from error
    except ReturnError:
        raise
    except NoAnswer as error:
        raise VibeError("V0922", f"the model gave no answer: {error}") from error
    finally:
        if scope is not None:
            scope.remove(run.cancel)


def _shown_history(site: Site, state: State) -> Conversation:
    from antiphon.conversation import Conversation
    from antiphon.lang.run.history import since, with_turns

    if site.context == "none":
        return Conversation()
    if site.context == "default":
        return state.history
    local = Conversation()
    return with_turns(local, since(state.history, state.base), None, "", state.history.kept)


def _variables(execution: Execution, site: Site, depth: int) -> str:
    found = context.variables(depth + 1, site.context == "local")
    if site.context == "default":
        found = [*execution.state.around, *found]
    return context.bounded(found)


def compress(execution: Execution, mark: Conversation, how: str | None, model: ModelValue | None) -> None:
    """Replace what happened since the mark by a summary of it."""
    from antiphon.conversation import Conversation
    from antiphon.conversation.transcript import transcript
    from antiphon.lang.run.history import since

    state = execution.state
    turns = since(state.history, mark)
    if not turns:
        return
    chosen = model or state.model or execution.default_model()
    told = Conversation(str(how) if how else _SUMMARY)
    result = _answer(execution, execution.host.session(chosen, told, []), transcript(turns), "do", None)
    state.history = mark.fork()
    state.history.add_user(f"Summary of what happened: {text(result)}")


def _is_over_budget(error: BaseException) -> bool:
    from antiphon.effects import OverBudget

    return isinstance(error.__cause__, OverBudget)


def _as_tool(value: Any) -> Any:
    return value.tool() if isinstance(value, VibeTool) else value


def _flat(tools: Any) -> list[Any]:
    """Tools, with those of bundles among them; each once."""
    out: dict[str, Any] = {}
    for each in tools:
        for tool in cast(list[Any], each) if isinstance(each, list | tuple) else [each]:
            out.setdefault(tool.name, tool)
    return list(out.values())
