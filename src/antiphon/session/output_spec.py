"""The goal of a run: an answer or a typed value, the instructions for it, and the number of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from antiphon.conversation import Conversation, Note, ToolCall, ToolSpec
from antiphon.session.exceptions import StopRun
from antiphon.session.prepared_tools import PreparedTools
from antiphon.session.settings import SessionSettings
from antiphon.session.typed_output import (
    ANSWER_TOOL,
    RejectedOutput,
    TextOrJson,
    TypedOutput,
    check_requested_strategy,
    choose_strategy,
    parse_untyped_answer,
    remember_output_schema,
)
from antiphon.tools import Tool
from antiphon.tools.execution import value_to_text
from antiphon.wire import CallDelta, Reply, Target

RunMode = Literal["do", "vibe", "chat"]
#: Sent to a model that stopped before its answer, when the run is resumed.
CONTINUE_PROMPT = "Please go on."
_EMPTY_ANSWER_REMINDER = "You gave neither an answer nor a tool call. Please answer."
_NO_MORE_CALLS = "No more tool calls are run for this question. Answer now with what you have."
_MALFORMED_REMINDER = "Your last output could not be read. Please give it again."
#: The number of retries if the provider could not parse the model's output.
_MAX_MALFORMED_RETRIES = 2


class OutputGoal:
    """The requested output of a run. `mode` limits the tool iterations, `returns` is the type of the value.

    Instructions that are needed only for a typed value are notes, which stay in the conversation.
    """

    def __init__(self, settings: SessionSettings, conversation: Conversation, mode: RunMode, returns: Any) -> None:
        self._settings = settings
        self._conversation = conversation
        self._mode: RunMode = mode
        own, declared = {tool.name for tool in settings.provided}, conversation.tools
        #: Tools of the provider that the conversation declares, and not the session.
        self._declared_specs = [spec for spec in declared if spec.is_provider_defined and spec.name not in own]
        self._provider_specs = [*self._declared_specs, *settings.hosted]
        #: The answer tool, once it is declared. It stays declared, because its removal would change the prompt.
        self._answer_specs = [spec for spec in declared if spec.name == ANSWER_TOOL]
        self._is_json_parsed = returns is TextOrJson
        self.expected = None if returns is None or self._is_json_parsed else TypedOutput(returns, conversation)
        #: Texts that a check rejected.
        self.rejected: list[RejectedOutput] = []
        #: Mode `do` allows one set of tool calls; the next reply must be the answer.
        self.is_answer_due = False
        self._refused = 0
        self._malformed_count = 0
        self._is_reminded = False
        #: The tools that the prepared toolsets have chosen for the next request.
        self.prepared = PreparedTools()
        #: The declarations of the last request. They are the same object while nothing changes.
        self._specs: tuple[ToolSpec, ...] = ()
        #: The target and the native schema of the last request.
        self._requested_schema: tuple[Target, Any] | None = None

    @property
    def _target(self) -> Target | None:
        return getattr(self._settings.model, "target", None)

    @property
    def _has_tools(self) -> bool:
        settings = self._settings
        return bool(settings.tools or settings.prepared or self._provider_specs or settings.options.get("extra"))

    def begin(self) -> None:
        """Choose the strategy by which the model is asked for a typed answer."""
        if self.expected is not None:
            for model in self._settings.chain.models:
                check_requested_strategy(self._settings.strategy, self.expected.schema, getattr(model, "target", None))
            schema, wish = self.expected.schema, self._settings.strategy
            strategy = choose_strategy(wish, schema, self._target, self._conversation, self._has_tools)
            if strategy == "tool" and not self._can_add_answer_tool():
                strategy = "prompted"
            self.expected.strategy = strategy

    def begin_with_next_model(self) -> None:
        """Choose the strategy and the tools of the provider for another model, and tell it what that needs."""
        self._provider_specs = [*self._declared_specs, *self._settings.hosted]
        before = self.expected.strategy if self.expected else None
        if self.expected is None or before == "tool":
            # The conversation asks for a call of the answer tool, which is declared.
            return
        self.begin()
        if self.expected.strategy != before and (notes := self.instruction()):
            self._conversation.add_user(notes)

    def use_settings(self, settings: SessionSettings) -> None:
        """Ask with other settings from here on. The requested type stays the same."""
        self._settings = settings
        self._provider_specs = [*self._declared_specs, *settings.hosted]
        self.begin()
        self.restate_instruction()

    def choose_fallback_strategy(self) -> bool:
        """Choose another output strategy after a rejected request. Return False if there is none."""
        if self.expected is None or self.expected.strategy == "prompted" or self._settings.strategy is not None:
            return False
        self.expected.strategy = "prompted"
        self._conversation.add_user(self.instruction())
        return True

    def _can_add_answer_tool(self) -> bool:
        """Return whether the answer tool can be declared: its name is free, or it is declared for the same schema."""
        if ANSWER_TOOL in self._settings.tools or ANSWER_TOOL in self.prepared.tools or self.expected is None:
            return False
        declared = self._answer_specs
        return declared == [self.expected.tool()] if declared else len(self._conversation.turns) <= 1

    # Instructions, tools and options

    def instruction(self) -> list[Note]:
        """Return the notes that follow the prompt."""
        if self.expected is None:
            return []
        told = self.expected.instruction(self._conversation)
        return [*([Note(told, "form")] if told else []), *self._list_citable_calls()]

    def _list_citable_calls(self) -> list[Note]:
        """Return a note with the ids of the calls that the answer may cite, if the model has not got them yet."""
        calls = self.expected.calls if self.expected else None
        note = None if calls is None else calls.make_note()
        return [] if note is None else [note]

    def restate_instruction(self) -> None:
        """Repeat the instruction if compaction has removed it from the conversation."""
        if self.expected and not self.expected.is_form_stated(self._conversation):
            self._conversation.add_user(self.instruction())

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools that run locally: those of the session, and the one that reads more of a truncated result."""
        given, target = self._settings.tools, self._target
        if self._settings.prepared:
            given = {**given, **self.prepared.tools}
        is_local = target is not None and target.provider == "local"
        if not given or "read_result" in given or (is_local and not self._conversation.kept):
            # The embedded model is small and has no prompt cache to lose, so declare the tool only when it is useful.
            return given
        # Declared from the start, because a tool that is added later changes the prompt. It imports pydantic.
        from antiphon.tools.result_paging import make_read_result_tool

        return {**given, "read_result": make_read_result_tool()}

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return all tool declarations: local tools, the provider's tools, and the answer tool if it is used."""
        given, chosen = self._settings.tools, self.prepared
        more = [tool.spec for name, tool in self.tools.items() if name not in given and name not in chosen.tools]
        specs = [*[tool.spec for tool in given.values()], *chosen.specs, *more, *self._provider_specs]
        if not self._answer_specs and self.expected and self.expected.strategy == "tool":
            self._answer_specs = [self.expected.tool()]
        declared = (*specs, *[spec for spec in self._answer_specs if spec not in specs])
        if declared != self._specs:
            self._specs = declared
        return self._specs

    def options(self) -> dict[str, Any]:
        """Return the options of the next request."""
        options, target = dict(self._settings.options), self._target
        strategy = self.expected.strategy if self.expected else None
        if self.expected and strategy == "native":
            options["output_schema"] = self.expected.schema
        if target is None:
            return options
        schema = options.get("output_schema")
        if self._requested_schema != (target, schema):
            remember_output_schema(self._conversation, target, schema)
            self._requested_schema = target, schema
        if target.provider == "local" and self.is_answer_due and self._settings.tools:
            # The embedded model gets a new grammar for each request, and its prompt stays unchanged.
            options["tool_choice"] = "none"
        is_forced = self.is_answer_due or not self._settings.tools
        if strategy == "tool" and is_forced and target.facts.forced_choice == "yes":
            options.setdefault("tool_choice", ANSWER_TOOL)
        return options

    # Answers and calls

    def is_internal(self, call: ToolCall) -> bool:
        """Return whether a call returns the typed value."""
        return self.expected is not None and self.expected.strategy == "tool" and call.name == ANSWER_TOOL

    def is_answer_delta(self, delta: Any, indexes: set[int]) -> bool:
        """Return whether a delta belongs to a call that returns the value.

        `indexes` collects the indexes of such calls.
        """
        if self.expected is None or self.expected.strategy != "tool" or not isinstance(delta, CallDelta):
            return False
        if delta.name == ANSWER_TOOL:
            indexes.add(delta.index)
        return delta.index in indexes

    def process_answer(self, reply: Reply, text: str) -> None:
        """Process an answer without calls: raise `StopRun`, or add a reminder and let the model try again."""
        if reply.stop == "refusal":
            if self.expected and text:
                self.expected.received.append(text)
            raise StopRun("refused", format_refusal(reply), text, reply.state.refusal)
        if reply.stop == "malformed" and self._malformed_count < _MAX_MALFORMED_RETRIES:
            self._malformed_count += 1
            self._conversation.add_user(Note(_MALFORMED_REMINDER, "reminder"))
            return
        if reply.stop not in ("end", "stop_sequence", "tool_calls", "length"):
            raise StopRun("unfinished", f"the model stopped before its answer was done ({reply.stop_reason})", text)
        if self.expected:
            self._process_typed_answer(self.expected, reply, text)
            return
        if text.strip():
            value = parse_untyped_answer(text) if self._is_json_parsed else text
            cut = reply.stop == "length"
            raise StopRun("truncated" if cut else "done", "cut off by the token limit" if cut else "", value)
        if reply.stop == "length":
            raise StopRun("truncated", "cut off by the token limit before the answer began", "")
        if self._is_reminded:
            raise StopRun("empty", "the model gave neither an answer nor a tool call, also when reminded", "")
        self._is_reminded = True
        self._conversation.add_user(Note(_EMPTY_ANSWER_REMINDER, "reminder"))

    def _process_typed_answer(self, expected: TypedOutput, reply: Reply, text: str) -> None:
        if reply.stop == "length":
            expected.faults = []
            expected.reject_answer("an answer that was cut off by the token limit")
        else:
            expected.accept_text(text)
        if expected.has_value:
            raise StopRun("done", "", expected.value)
        self._count_failed_attempt()
        self._conversation.add_user(Note(expected.format_reminder(), "reminder"))

    def look_at(self, calls: Sequence[ToolCall], is_late: bool) -> None:
        """Process the calls of a reply after they ran.

        Raise `StopRun` if they return the value. Otherwise count a tool iteration or a failed attempt. With
        `is_late`, the calls came when no more were allowed.
        """
        expected = self.expected
        if expected and expected.has_value:
            raise StopRun("done", "", expected.value)
        returned = sum(map(self.is_internal, calls)) if expected else 0
        if expected is not None and (told := self._list_citable_calls()):
            self._conversation.add_user(told)
        if returned < len(calls) and self._mode == "do" and not self.is_answer_due:
            self.is_answer_due = True
            if self._target is None or self._target.provider != "local":
                self._conversation.add_user(Note(_NO_MORE_CALLS, "instruction"))
        if returned or is_late:
            self._count_failed_attempt()

    def reject_value(self, value: Any, fault: str) -> None:
        """Ask the model again for an answer that a check rejected."""
        if self.expected is not None:
            self.expected.reject_value(fault)
            reminder = self.expected.format_reminder()
        else:
            self.rejected.append(RejectedOutput(value_to_text(value), fault))
            reminder = f"That does not fit ({fault}). Answer again."
        self._count_failed_attempt(fault)
        self._conversation.add_user(Note(reminder, "reminder"))

    def make_tool_end(self, value: Any) -> StopRun:
        """Return the `StopRun` for a tool that ended the run. Its value must have the requested type."""
        if self.expected is None:
            return StopRun("done", "", value)
        self.expected.accept_text(value_to_text(value))
        if not self.expected.has_value:
            return StopRun("wrong", f"a tool ended the run with {value_to_text(value)[:200]}")
        return StopRun("done", "", self.expected.value)

    def _count_failed_attempt(self, fault: str = "") -> None:
        """Count a failed attempt. Raise `StopRun` if there were too many; `fault` is what a check says."""
        self._refused += 1
        if self._refused <= self._settings.attempts:
            return
        if fault:
            raise StopRun("wrong", fault)
        if self.expected is None:
            raise StopRun("stuck", "the model goes on calling tools, though one set of calls was allowed")
        raise StopRun("wrong", self.expected.describe_faults())


def format_refusal(reply: Reply) -> str:
    """Return the reason for a refusal, in the model's words if there are any, otherwise in the provider's."""
    known = reply.state.refusal
    said = reply.text or (known.explanation if known else "") or "the model refused to answer"
    about = f" ({known.category})" if known and known.category and known.category not in said else ""
    other = f"; {known.recommended_model} may answer" if known and known.recommended_model else ""
    return f"{said}{about}{other}"
