"""Model calls: send a prompt from a site of the program with its context, and record the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import SessionAborted
from antiphon.lang.codegen.code_object import AskSite
from antiphon.lang.runtime.errors import IterationAborted, ProgramAborted, VibeError
from antiphon.lang.runtime.execution import ProgramExecution, ThreadState
from antiphon.lang.runtime.human_questions import make_aborted_error, make_suspended_error
from antiphon.lang.runtime.models import ModelValue
from antiphon.lang.runtime.tools_and_types import VibeTool, to_python_type
from antiphon.lang.runtime.values import to_text
from antiphon.lang.runtime.visible_variables import KnownVariables, VariableFrame, collect_frames
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from antiphon.lang.runtime.history import HistoryView, ProgramHistory

_SUMMARY_PROMPT = (
    "Sum up what happened in this part of a conversation, in a few sentences that keep every fact needed later."
)


def ask_model(
    execution: ProgramExecution, site: AskSite, prompt: str, model: ModelValue | None, depth: int
) -> AIResult:
    """Ask a model from a site of the program; `depth` is the number of stack frames up to the program's own."""
    state = execution.state
    chosen = model or (execution.default_model() if site.says_model else state.model or execution.default_model())
    tools = [
        each.tool() if isinstance(each, VibeTool) else each for each in _flatten_tools(chosen.settings.get("tools", ()))
    ]
    from antiphon.session import TextOrJson

    returns = TextOrJson if site.wanted is None else to_python_type(site.wanted)
    mode = "do" if site.kind == "do" else "vibe"
    if site.context == "none":
        from antiphon.conversation import Conversation

        conversation = Conversation(str(chosen.settings.get("system", "")))
        result = _run_session(execution, execution.host.session(chosen, conversation, tools), prompt, mode, returns)
    else:
        shown = collect_frames(depth + 1, site.context == "local", state.around) if site.context else None
        result = _ask_in_history(execution, site, prompt, chosen, tools, returns, shown)
    if model is not None:
        state.model = model
    return result


def _ask_in_history(
    execution: ProgramExecution,
    site: AskSite,
    prompt: str,
    model: ModelValue,
    tools: list[Any],
    returns: Any,
    shown: list[VariableFrame] | None,
) -> AIResult:
    """Ask a model in its conversation of the history, and add the new turns to the history.

    If `shown` is not None, tell the model first which of those variables have changed.
    """
    from antiphon.conversation import Note
    from antiphon.lang.runtime.history import extract_ask_turns, make_private_entries

    state = execution.state
    history, view = state.history, _select_view(state, site)
    key = _make_branch_key(model, tools)
    conversation = history.conversation(view, key)
    conversation.system = str(model.settings.get("system", ""))
    before = conversation.turns
    known = history.known_variables.get(view, KnownVariables())
    changes, told = ("", known) if shown is None else known.update(shown)
    if changes:
        conversation.add_user(Note(changes, "variables"))
    mode = "do" if site.kind == "do" else "vibe"
    result = _run_session(execution, execution.host.session(model, conversation, tools), prompt, mode, returns)
    if site.hidden:
        state.history = history.with_entries(make_private_entries(site.hidden, prompt, result), {})
    else:
        turns = extract_ask_turns(conversation, before, prompt)
        state.history = history.add_answer(view, key, conversation, turns, told)
    return result


def _select_view(state: ThreadState, site: AskSite) -> HistoryView:
    """Return the part of the history to show: that of the function, or all of it with `default`.

    Without a context word, the top level shares its view with `default`, so that both continue one
    conversation.
    """
    base = len(state.base.entries)
    return "all" if site.context == "default" or (site.context is None and not base) else base


def _make_branch_key(model: ModelValue, tools: list[Any]) -> str:
    """Return a key that differs for model values which cannot share a conversation.

    It contains the model and everything that precedes the first message: system text and tools.
    """
    from antiphon._base.json import dump_json

    settings = [model.settings.get(name) for name in ("name", "provider", "url", "system", "reasoning")]
    return dump_json([settings, [[tool.name, tool.spec.description, tool.spec.parameters] for tool in tools]])


def _run_session(execution: ProgramExecution, session: Any, prompt: str, mode: Any, returns: Any) -> AIResult:
    """Run a session and return its answer.

    Requests are always streamed, so that a recording fits whether or not anybody watches.
    """
    from antiphon.session import Cancelled, LimitReached, NeedsHuman, NoAnswer, ReturnError
    from antiphon.session.sync_bridge import current_cancel_scope

    scope = current_cancel_scope()
    if scope is not None and scope.cancelled:
        raise IterationAborted()
    with execution.get_parent_run(execution.state).active():
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
        raise IterationAborted() from None
    except SessionAborted as error:
        raise make_aborted_error(error) from error
    except NeedsHuman as error:
        raise make_suspended_error(str(error), "run it in a terminal, or allow it: `--yes`") from error
    except LimitReached as error:
        if error.exceeded is not None and not error.exceeded.scope.startswith("session:"):
            # A limit of the whole program, not of this model.
            raise ProgramAborted(VibeError("V0922", str(error))) from error
        raise VibeError("V0922", f"the model gave no answer: {error}") from error
    except ReturnError:
        raise
    except NoAnswer as error:
        raise VibeError("V0922", f"the model gave no answer: {error}") from error
    finally:
        if scope is not None:
            scope.remove(run.cancel)


def compress_history(
    execution: ProgramExecution, mark: ProgramHistory, how: str | None, model: ModelValue | None
) -> None:
    """Replace the history since the mark by a summary of it."""
    from antiphon.conversation import Conversation
    from antiphon.conversation.transcript import format_transcript

    state = execution.state
    entries = state.history.since(mark)
    if not entries:
        return
    chosen = model or state.model or execution.default_model()
    told = Conversation(str(how) if how else _SUMMARY_PROMPT)
    happened = format_transcript([entry.turn for entry in entries])
    result = _run_session(execution, execution.host.session(chosen, told, []), happened, "do", None)
    state.history = mark.add_text(f"Summary of what happened: {to_text(result)}")


def _flatten_tools(tools: Any) -> list[Any]:
    """Return all tools, including those in bundles, each once."""
    out: dict[str, Any] = {}
    for each in tools:
        for tool in cast(list[Any], each) if isinstance(each, list | tuple) else [each]:
            out.setdefault(tool.name, tool)
    return list(out.values())
