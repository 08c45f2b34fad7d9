"""The store of conversations: one SQLite file with every conversation, found again by id, by time or by its words.

This room knows how conversations are kept, and nothing of commands or terminals. `Store` is where to begin.
"""

from antiphon._base.lazy_exports import publish_exports
from antiphon.storage.conversation_entry import ConversationEntry
from antiphon.storage.search import Excerpt
from antiphon.storage.store import Store

__all__ = ["ConversationEntry", "Excerpt", "Store"]

publish_exports(globals())
