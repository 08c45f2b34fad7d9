"""Agents that talk: durable channels, and a team of agents with roles that works on a repository.

A team is its channels: all that is said and all that happens in it are messages, and what it does next follows from
them. This room knows sessions and the journal, and nothing of screens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._public import lazy, publish
from antiphon.agents.channels import Channel, Message, SecretRefused
from antiphon.agents.seats import Seat

if TYPE_CHECKING:
    from antiphon.agents.checks import sandbox_problem
    from antiphon.agents.git import RepositoryError
    from antiphon.agents.roles import ROLES, Role
    from antiphon.agents.settings import RoleSettings, TeamSettings
    from antiphon.agents.spending import AgentCost
    from antiphon.agents.state import TeamState
    from antiphon.agents.team import Team
    from antiphon.agents.work import Task

_HOMES = {
    "AgentCost": "spending",
    "ROLES": "roles",
    "RepositoryError": "git",
    "Role": "roles",
    "RoleSettings": "settings",
    "Task": "work",
    "Team": "team",
    "TeamSettings": "settings",
    "TeamState": "state",
    "sandbox_problem": "checks",
}

__all__ = [
    "ROLES",
    "AgentCost",
    "Channel",
    "Message",
    "RepositoryError",
    "Role",
    "RoleSettings",
    "Seat",
    "SecretRefused",
    "Task",
    "Team",
    "TeamSettings",
    "TeamState",
    "sandbox_problem",
]

publish(globals())
__getattr__ = lazy(__name__, _HOMES)
