"""The tools that prepared toolsets choose before each request, as an effect of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.conversation import Conversation, ToolSpec
from antiphon.effects import EffectContext
from antiphon.effects.types import RunPython
from antiphon.session.settings import SessionSettings
from antiphon.tools import StepContext, Tool, ToolDefinitionError, as_tools


@dataclass(frozen=True, slots=True)
class PreparedTools:
    """The chosen tools by name, and the declarations of the request.

    In a replay, a declared tool may not be available any more.
    """

    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    specs: tuple[ToolSpec, ...] = ()


async def prepare_tools(
    settings: SessionSettings, conversation: Conversation, place: EffectContext, number: int
) -> PreparedTools:
    """Let the prepared toolsets of a session choose the tools of a request.

    A replay declares the saved tools again. The functions are called then too, because what they decide about the
    tools must hold for the calls that run now.
    """
    context: StepContext[Any] = StepContext(settings.deps, conversation, number, settings.model.name)
    chosen = as_tools([tool for each in settings.prepared for tool in await each.list_tools(context)])
    if taken := next((tool.name for tool in chosen if tool.name in settings.tools), None):
        raise ToolDefinitionError(f"two tools are named `{taken}`; a prefixed `Toolset` gives one another name")

    async def declare() -> list[Any]:
        return [[each.name, each.spec.description, each.spec.parameters] for each in chosen]

    saved: list[list[Any]] = await place.perform(
        f"tools{number}", lambda: RunPython("tools", [number], is_harmless=True), declare
    )
    now = {tool.name: tool for tool in chosen}
    specs = tuple(_restore_spec(now.get(name), ToolSpec(name, *declared)) for name, *declared in saved)
    return PreparedTools({spec.name: replace(now[spec.name], spec=spec) for spec in specs if spec.name in now}, specs)


def _restore_spec(tool: Tool | None, saved: ToolSpec) -> ToolSpec:
    """Return the declaration of a tool if it is still the saved one, otherwise the saved one."""
    own = None if tool is None else tool.spec
    is_same = own is not None and (own.description, own.parameters) == (saved.description, saved.parameters)
    return own if own is not None and is_same else saved
