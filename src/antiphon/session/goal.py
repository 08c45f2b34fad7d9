"""What a run is to come to: an answer, or a value of a type; what the model is told of it, and how often it may try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from antiphon.conversation import Conversation, Text, ToolCall, ToolSpec
from antiphon.session.endings import End
from antiphon.session.returns import PREFIX, Expected, parsed
from antiphon.session.settings import Settings
from antiphon.session.trimming import Machinery
from antiphon.tools.execution import as_text
from antiphon.wire import CallDelta, Reply, Target
from antiphon.wire.schema import strict_fits

Mode = Literal["do", "vibe", "chat"]
#: What a model is told that has stopped before its answer.
GO_ON = "Please go on."
_NUDGE = "You gave neither an answer nor a tool call. Please answer."


class Goal:
    """What is wanted of a run. `mode` says how many rounds of tools it may take, `returns` of which type the value is.

    What is said in the conversation only to get a typed value is taken out again in the end.
    """

    def __init__(self, settings: Settings, conversation: Conversation, mode: Mode, returns: Any) -> None:
        self._settings = settings
        self._conversation = conversation
        self._mode: Mode = mode
        self._returns = returns
        self._provided = [spec for spec in conversation.tools if spec.is_provider_defined]
        # What was cut can be read on, by a tool.
        self._has_tools = bool(settings.tools or self._provided or conversation.kept or settings.options.get("extra"))
        self.expected = self._wanted()
        self.machinery: Machinery
        #: `do` allows one set of tool calls; what follows must be the answer.
        self.is_last_round = False
        self._refused = 0
        self._most_values = 0
        self._is_nudged = False
        self._is_returned = False

    def _wanted(self) -> Expected | None:
        return None if self._returns is None else _expected(self._settings, self._returns, self._has_tools)

    def begin(self) -> None:
        """What is said from now on may be machinery."""
        self.machinery = Machinery(self._conversation, PREFIX)

    def begin_again(self) -> None:
        """After the run has waited: what is wanted is asked for anew."""
        self.expected = self._wanted()
        self.begin()

    # What the model is told

    def instruction(self) -> list[Text]:
        """What is put behind the prompt."""
        told = self.expected.instruction() if self.expected else ""
        return [self.machinery.text(told)] if told else []

    def specs(self) -> list[ToolSpec]:
        """The tools that the model is told of, with those that return the value."""
        if self._conversation.kept:
            # Something was cut: from now on the model can read on. Few runs need it, and it loads pydantic.
            from antiphon.tools.reading import read_result_tool

            self._settings.tools.setdefault("read_result", read_result_tool())
        return [*self._own_specs(), *(self.expected.tools() if self.expected else ())]

    def _own_specs(self) -> list[ToolSpec]:
        """The session's tools, and those of the conversation that the provider runs itself."""
        return [*[tool.spec for tool in self._settings.tools.values()], *self._provided]

    def options(self) -> dict[str, Any]:
        """The options of the next request."""
        options = dict(self._settings.options)
        has_tools, is_last = bool(self._settings.tools), self.is_last_round
        if self.expected and self.expected.strategy == "native":
            options["output_schema"] = self.expected.schema
        elif self.expected:
            if is_last or not has_tools:
                ways = self.expected.tools()
                # Among other tools, a small model goes on calling those.
                only = ways[0].name if has_tools and len(ways) == 1 else "required"
                options.setdefault("tool_choice", only)
            return options
        if is_last and has_tools:
            options["tool_choice"] = "none"
        return options

    # What comes

    def is_internal(self, call: ToolCall) -> bool:
        """Whether a call returns the value, or a part of it."""
        return self.expected is not None and call.name.startswith(PREFIX)

    def is_piece(self, delta: Any, indexes: set[int]) -> bool:
        """Whether this is a piece of such a call, while it comes; `indexes` keeps which calls are such."""
        if self.expected is None or not isinstance(delta, CallDelta):
            return False
        if delta.name.startswith(PREFIX):
            indexes.add(delta.index)
        return delta.index in indexes

    def take_answer(self, reply: Reply) -> None:
        """An answer without calls: the end, or a reason to ask again."""
        text = reply.text
        if reply.stop == "pause":
            self._conversation.add_user(GO_ON)
            return
        if reply.stop == "refusal":
            if self.expected and text:
                self.expected.received.append(text)
            raise End("refused", text or "the model refused to answer", text)
        if self.expected:
            self._take_typed(self.expected, reply)
            return
        if text.strip():
            value = text if self._mode == "chat" else parsed(text)
            cut = reply.stop == "length"
            raise End("truncated" if cut else "done", "cut off by the token limit" if cut else "", value)
        if self._is_nudged:
            raise End("empty", "the model gave neither an answer nor a tool call, also when reminded", "")
        self._is_nudged = True
        self._conversation.add_user(_NUDGE)

    def _take_typed(self, expected: Expected, reply: Reply) -> None:
        expected.faults = []
        if reply.stop == "length":
            expected.take_nothing("an answer that was cut off by the token limit")
        else:
            expected.take_text(reply.text)
        if expected.is_enough and not expected.faults:
            raise End("done", "", expected.value)
        self.machinery.refuse_answer()
        self._try_again()
        self._conversation.add_user(self.machinery.text(expected.reminder()))

    def look_at(self, calls: Sequence[ToolCall], is_late: bool) -> None:
        """After the calls of a reply: the end, where they complete what is wanted; else a round is used up, or a try.

        Late calls came when no more were allowed.
        """
        expected = self.expected
        if expected and expected.is_complete and not expected.faults:
            raise self._returned(expected)
        returned = sum(map(self.is_internal, calls)) if expected else 0
        if returned < len(calls):
            self.is_last_round = self._mode == "do"
        if returned or is_late:
            self._try_again()
        if expected and returned == len(calls) and not expected.faults:
            # What was wrong is told in the results; what just did not come is told here.
            self._conversation.add_user(self.machinery.text(expected.reminder()))

    def ended_by_tool(self, value: Any) -> End:
        """The end that a tool has made, with a value that must be what was asked for."""
        if self.expected is None:
            return End("done", "", value)
        self.expected.take_text(as_text(value))
        if not self.expected.is_enough:
            return End("wrong", f"a tool ended the run with {as_text(value)[:200]}")
        return self._returned(self.expected)

    def _returned(self, expected: Expected) -> End:
        self._is_returned = True
        return End("done", "", expected.value)

    def _try_again(self) -> None:
        """Count an answer that brought nothing new; the end, where there were too many."""
        expected = self.expected
        if expected and len(expected.values) > self._most_values:
            self._most_values = len(expected.values)
            return
        if expected and expected.is_enough:
            # Reminded of the fields that may be left out, it has left them out.
            raise self._returned(expected)
        self._refused += 1
        if self._refused <= self._settings.attempts:
            return
        if expected is None:
            raise End("stuck", "the model goes on calling tools, though one set of calls was allowed")
        raise End("wrong", expected.lack())

    def settle(self) -> None:
        """Leave in the conversation the question and the answer, and nothing of how the value was got."""
        self._conversation.tools = self._own_specs()
        if self.expected:
            answer = self.expected.answer if self._is_returned else ""
            self.machinery.take_out(answer, failed=not self.expected.is_enough)


def _expected(settings: Settings, returns: Any, has_tools: bool) -> Expected:
    """What is wanted of a session's model, in the way that suits it."""
    known = getattr(settings.model, "capabilities", None)
    target: Target | None = getattr(settings.model, "target", None)

    def is_sure(schema: dict[str, Any]) -> bool:
        if target is None or not getattr(known, "structured_output", None):
            return False
        # A local model is held to any schema. Elsewhere tools and a schema do not go together on every model.
        return target.provider == "local" or (not has_tools and strict_fits(schema, target.api))

    return Expected(returns, settings.strategy, parallel_calls=getattr(known, "parallel_calls", None), is_sure=is_sure)
