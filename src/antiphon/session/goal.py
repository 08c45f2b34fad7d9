"""What a run is to come to: an answer, or a value of a type; what the model is told of it, and how often it may try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from antiphon.conversation import Conversation, Note, ToolCall, ToolSpec
from antiphon.session.endings import End
from antiphon.session.returns import ANSWER_TOOL, Expected, choose_strategy, parsed, remember_form
from antiphon.session.settings import Settings
from antiphon.tools import Tool
from antiphon.tools.execution import as_text
from antiphon.wire import CallDelta, Reply, Target

Mode = Literal["do", "vibe", "chat"]
#: What a model is told that has stopped before its answer, when somebody resumes the run.
GO_ON = "Please go on."
_NUDGE = "You gave neither an answer nor a tool call. Please answer."
_NO_MORE_CALLS = "No more tool calls are run for this question. Answer now with what you have."
_MALFORMED = "Your last output could not be read. Please give it again."
#: How often a model whose output the provider could not read is asked again.
_MOST_MALFORMED = 2


class Goal:
    """What is wanted of a run. `mode` says how many rounds of tools it may take, `returns` of which type the value is.

    What is said to the model only to get a typed value are notes, which stay in the conversation.
    """

    def __init__(self, settings: Settings, conversation: Conversation, mode: Mode, returns: Any) -> None:
        self._settings = settings
        self._conversation = conversation
        self._mode: Mode = mode
        own = {tool.name for tool in settings.provided}
        given = [spec for spec in conversation.tools if spec.is_provider_defined and spec.name not in own]
        self._provided = [*given, *settings.hosted]
        self.expected = None if returns is None else Expected(returns)
        #: `do` allows one set of tool calls; what follows must be the answer.
        self.is_last_round = False
        self._refused = 0
        self._malformed = 0
        self._is_nudged = False

    @property
    def _target(self) -> Target | None:
        return getattr(self._settings.model, "target", None)

    @property
    def _has_tools(self) -> bool:
        return bool(self._settings.tools or self._provided or self._settings.options.get("extra"))

    def begin(self) -> None:
        """Choose the way in which a typed answer is asked for."""
        if self.expected is not None:
            schema, wish = self.expected.schema, self._settings.strategy
            strategy = choose_strategy(wish, schema, self._target, self._conversation, self._has_tools)
            if strategy == "tool" and not self._can_add_tool():
                strategy = "prompted"
            self.expected.strategy = strategy

    def choose_again(self) -> bool:
        """Choose another way to ask for a typed answer after a refusal; return False where there is none."""
        if self.expected is None or self.expected.strategy == "prompted" or self._settings.strategy is not None:
            return False
        self.expected.strategy = "prompted"
        self._conversation.add_user(self.instruction())
        return True

    def _can_add_tool(self) -> bool:
        """Return whether the return tool can be declared: nobody else has its name, and it is for this form."""
        if ANSWER_TOOL in self._settings.tools or self.expected is None:
            return False
        declared = [spec for spec in self._conversation.tools if spec.name == ANSWER_TOOL]
        return declared == [self.expected.tool()] if declared else len(self._conversation.turns) <= 1

    # What the model is told

    def instruction(self) -> list[Note]:
        """Return what is put behind the prompt."""
        told = self.expected.instruction(self._conversation) if self.expected else ""
        return [Note(told, "form")] if told else []

    def restate(self) -> None:
        """Say again what a shorter conversation no longer says."""
        if self.expected and not self.expected.is_stated(self._conversation):
            self._conversation.add_user(self.instruction())

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools that run here: those of the session, and the one that reads on in results that were cut."""
        given = self._settings.tools
        is_local = self._target is not None and self._target.provider == "local"
        if not given or "read_result" in given or (is_local and not self._conversation.kept):
            # The embedded model is small, and reads its prompt anew: it is told of the tool when there is something.
            return given
        # Declared from the start: a tool that joins later changes the prompt. It loads pydantic, as all tools do.
        from antiphon.tools.reading import read_result_tool

        return {**given, "read_result": read_result_tool()}

    def specs(self) -> list[ToolSpec]:
        """Return the tools that the model is told of, those of the provider and the one that returns the value."""
        specs = [*[tool.spec for tool in self.tools.values()], *self._provided]
        returning = [spec for spec in self._conversation.tools if spec.name == ANSWER_TOOL and spec not in specs]
        if not returning and self.expected and self.expected.strategy == "tool":
            returning = [self.expected.tool()]
        return specs + returning

    def options(self) -> dict[str, Any]:
        """Return the options of the next request."""
        options = dict(self._settings.options)
        is_native = self.expected is not None and self.expected.strategy == "native"
        if self.expected and is_native:
            options["output_schema"] = self.expected.schema
        if self._target is not None:
            remember_form(self._conversation, self._target, options.get("output_schema"))
            if self._target.provider == "local":
                # The grammar of the embedded model is made anew for each request, and the prompt stays as it is.
                self._narrow_locally(options)
        if self.expected and self.expected.strategy == "tool":
            self._force_answer(options)
        return options

    def _narrow_locally(self, options: dict[str, Any]) -> None:
        if self.is_last_round and self._settings.tools:
            options["tool_choice"] = "none"

    def _force_answer(self, options: dict[str, Any]) -> None:
        known = self._target.facts.forced_choice if self._target else None
        if known == "yes" and (self.is_last_round or not self._settings.tools):
            options.setdefault("tool_choice", ANSWER_TOOL)

    # What comes

    def is_internal(self, call: ToolCall) -> bool:
        """Return whether a call returns the value."""
        return self.expected is not None and self.expected.strategy == "tool" and call.name == ANSWER_TOOL

    def is_piece(self, delta: Any, indexes: set[int]) -> bool:
        """Return whether this is a piece of such a call; `indexes` keeps which calls are such."""
        if self.expected is None or self.expected.strategy != "tool" or not isinstance(delta, CallDelta):
            return False
        if delta.name == ANSWER_TOOL:
            indexes.add(delta.index)
        return delta.index in indexes

    def take_answer(self, reply: Reply) -> None:
        """Take an answer without calls: the end, or a reason to ask again."""
        text = reply.text
        if reply.stop == "refusal":
            if self.expected and text:
                self.expected.received.append(text)
            raise End("refused", _refusal_text(reply), text, reply.state.refusal)
        if reply.stop == "malformed" and self._malformed < _MOST_MALFORMED:
            self._malformed += 1
            self._conversation.add_user(Note(_MALFORMED, "reminder"))
            return
        if reply.stop not in ("end", "stop_sequence", "tool_calls", "length"):
            raise End("unfinished", f"the model stopped before its answer was done ({reply.stop_reason})", text)
        if self.expected:
            self._take_typed(self.expected, reply)
            return
        if text.strip():
            value = text if self._mode == "chat" else parsed(text)
            cut = reply.stop == "length"
            raise End("truncated" if cut else "done", "cut off by the token limit" if cut else "", value)
        if reply.stop == "length":
            raise End("truncated", "cut off by the token limit before the answer began", "")
        if self._is_nudged:
            raise End("empty", "the model gave neither an answer nor a tool call, also when reminded", "")
        self._is_nudged = True
        self._conversation.add_user(Note(_NUDGE, "reminder"))

    def _take_typed(self, expected: Expected, reply: Reply) -> None:
        if reply.stop == "length":
            expected.faults = []
            expected.take_nothing("an answer that was cut off by the token limit")
        else:
            expected.take_text(reply.text)
        if expected.is_enough:
            raise End("done", "", expected.value)
        self._try_again()
        self._conversation.add_user(Note(expected.reminder(), "reminder"))

    def look_at(self, calls: Sequence[ToolCall], is_late: bool) -> None:
        """After the calls of a reply: the end, where they return what is wanted; else a round is used up, or a try.

        Late calls came when no more were allowed.
        """
        expected = self.expected
        if expected and expected.is_enough:
            raise End("done", "", expected.value)
        returned = sum(map(self.is_internal, calls)) if expected else 0
        if returned < len(calls) and self._mode == "do" and not self.is_last_round:
            self.is_last_round = True
            if self._target is None or self._target.provider != "local":
                self._conversation.add_user(Note(_NO_MORE_CALLS, "instruction"))
        if returned or is_late:
            self._try_again()

    def ended_by_tool(self, value: Any) -> End:
        """Return the end that a tool has made, with a value that must be what was asked for."""
        if self.expected is None:
            return End("done", "", value)
        self.expected.take_text(as_text(value))
        if not self.expected.is_enough:
            return End("wrong", f"a tool ended the run with {as_text(value)[:200]}")
        return End("done", "", self.expected.value)

    def _try_again(self) -> None:
        """Count an answer that brought nothing new; the end, where there were too many."""
        self._refused += 1
        if self._refused <= self._settings.attempts:
            return
        if self.expected is None:
            raise End("stuck", "the model goes on calling tools, though one set of calls was allowed")
        raise End("wrong", self.expected.lack())


def _refusal_text(reply: Reply) -> str:
    """Return why the model gives no answer: in its own words, else in the provider's."""
    known = reply.state.refusal
    said = reply.text or (known.explanation if known else "") or "the model refused to answer"
    about = f" ({known.category})" if known and known.category and known.category not in said else ""
    other = f"; {known.recommended_model} may answer" if known and known.recommended_model else ""
    return f"{said}{about}{other}"
