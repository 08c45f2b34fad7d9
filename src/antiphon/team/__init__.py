"""A team of agents that works on a git repository, and the durable channels its members talk in.

A team is event-sourced: every message and event is stored in its channels, and the next steps follow
from them. This package uses sessions and the journal, and knows nothing of user interfaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr, publish_exports
from antiphon.team.channels import Channel, ChannelMessage, SecretRefused
from antiphon.team.members import ChannelMember

if TYPE_CHECKING:
    from antiphon.team.budget import AgentCost
    from antiphon.team.git import RepositoryError
    from antiphon.team.roles import ROLES, Role
    from antiphon.team.sandboxed_tests import sandbox_problem
    from antiphon.team.settings import RoleSettings, TeamSettings
    from antiphon.team.state import TeamState
    from antiphon.team.tasks import Task
    from antiphon.team.team import Team

_HOMES = {
    "AgentCost": "budget",
    "ROLES": "roles",
    "RepositoryError": "git",
    "Role": "roles",
    "RoleSettings": "settings",
    "Task": "tasks",
    "Team": "team",
    "TeamSettings": "settings",
    "TeamState": "state",
    "sandbox_problem": "sandboxed_tests",
}

__all__ = [
    "ROLES",
    "AgentCost",
    "Channel",
    "ChannelMember",
    "ChannelMessage",
    "RepositoryError",
    "Role",
    "RoleSettings",
    "SecretRefused",
    "Task",
    "Team",
    "TeamSettings",
    "TeamState",
    "sandbox_problem",
]

publish_exports(globals())
__getattr__ = make_lazy_getattr(__name__, _HOMES)
