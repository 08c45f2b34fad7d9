"""Asking: a question from a place of the program, what the model is shown with it, and what becomes history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import Halted
from antiphon.lang.compile.code import Site
from antiphon.lang.run import context
from antiphon.lang.run.errors import RoundStopped, Stopped, VibeError
from antiphon.lang.run.execution import Execution
from antiphon.lang.run.models import ModelValue
from antiphon.lang.run.questions import halted, waits
from antiphon.lang.run.tooling import VibeTool, python_type
from antiphon.lang.run.values import text
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from antiphon.lang.run.history import History, View
    from antiphon.lang.run.threads import State
    from antiphon.lang.run.variables import Frame

_SUMMARY = "Sum up what happened in this part of a conversation, in a few sentences that keep every fact needed later."


def ask(execution: Execution, site: Site, prompt: str, model: ModelValue | None, depth: int) -> AIResult:
    """Ask a model from a place of the program; `depth` frames up is the program's own."""
    state = execution.state
    chosen = model or (execution.default_model() if site.says_model else state.model or execution.default_model())
    tools = [_as_tool(each) for each in _flat(chosen.settings.get("tools", ()))]
    returns = None if site.wanted is None else python_type(site.wanted)
    mode = "do" if site.kind == "do" else "vibe"
    if site.context == "none":
        from antiphon.conversation import Conversation

        conversation = Conversation(str(chosen.settings.get("system", "")))
        result = _answer(execution, execution.host.session(chosen, conversation, tools), prompt, mode, returns)
    else:
        shown = context.variables(depth + 1, site.context == "local", state.around) if site.context else None
        result = _asked_in_history(execution, site, prompt, chosen, tools, returns, shown)
    if model is not None:
        state.model = model
    return result


def _asked_in_history(
    execution: Execution,
    site: Site,
    prompt: str,
    model: ModelValue,
    tools: list[Any],
    returns: Any,
    shown: list[Frame] | None,
) -> AIResult:
    """Ask a model in the history, and add to it what happened. Tell it changes of the variables `shown`, if any are."""
    from antiphon.conversation import Note
    from antiphon.lang.run.history import turns_of_ask, without_private
    from antiphon.lang.run.variables import Told

    state = execution.state
    history, view = state.history, _view(state, site)
    key = _branch_key(model, tools)
    conversation = history.conversation(view, key)
    conversation.system = str(model.settings.get("system", ""))
    before = conversation.turns
    known = history.told.get(view, Told())
    changes, told = ("", known) if shown is None else known.update(shown)
    if changes:
        conversation.add_user(Note(changes, "variables"))
    mode = "do" if site.kind == "do" else "vibe"
    result = _answer(execution, execution.host.session(model, conversation, tools), prompt, mode, returns)
    if site.hidden:
        state.history = history.with_entries(without_private(site.hidden, prompt, result), {})
    else:
        turns = turns_of_ask(conversation, before, prompt)
        state.history = history.answered(view, key, conversation, turns, told)
    return result


def _view(state: State, site: Site) -> View:
    """Return the part of the history that is shown: that of the function, or with `default` all of it.

    Without a word, the top level shares its view with `default`, so that both continue one conversation.
    """
    base = len(state.base.entries)
    return "all" if site.context == "default" or (site.context is None and not base) else base


def _branch_key(model: ModelValue, tools: list[Any]) -> str:
    """Return what tells model values apart that cannot share a conversation: who is asked, and what stands first."""
    from antiphon._json import dumps

    settings = [model.settings.get(name) for name in ("name", "provider", "url", "system", "reasoning")]
    return dumps([settings, [[tool.name, tool.spec.description, tool.spec.parameters] for tool in tools]])


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


def compress(execution: Execution, mark: History, how: str | None, model: ModelValue | None) -> None:
    """Replace what happened since the mark by a summary of it."""
    from antiphon.conversation import Conversation
    from antiphon.conversation.transcript import transcript

    state = execution.state
    entries = state.history.since(mark)
    if not entries:
        return
    chosen = model or state.model or execution.default_model()
    told = Conversation(str(how) if how else _SUMMARY)
    happened = transcript([entry.turn for entry in entries])
    result = _answer(execution, execution.host.session(chosen, told, []), happened, "do", None)
    state.history = mark.said(f"Summary of what happened: {text(result)}")


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
