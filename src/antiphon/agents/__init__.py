"""Agents that talk: durable channels, and a team of agents with roles that works on a repository.

A team is its channels: all that is said and all that happens in it are messages, and what it does next follows from
them. This room knows sessions and the journal, and nothing of screens.
"""

from __future__ import annotations

from antiphon._public import publish
from antiphon.agents.channels import Channel, Message, SecretRefused
from antiphon.agents.seats import Seat

__all__ = ["Channel", "Message", "Seat", "SecretRefused"]

publish(globals())
