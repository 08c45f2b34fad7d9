"""The store of conversations: one SQLite file with every conversation, found again by id, by time or by its words.

This room knows how conversations are kept, and nothing of commands or terminals. `Store` is where to begin.
"""

from antiphon._public import publish
from antiphon.store.entry import Entry
from antiphon.store.search import Excerpt
from antiphon.store.store import Store

__all__ = ["Entry", "Excerpt", "Store"]

publish(globals())
