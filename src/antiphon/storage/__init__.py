"""The store of conversations: one SQLite file, with lookup by id and full-text search.

Start with `Store`. This package knows nothing of commands or terminals.
"""

from antiphon._base.lazy_exports import publish_exports
from antiphon.storage.conversation_entry import ConversationEntry
from antiphon.storage.search import Excerpt
from antiphon.storage.store import Store

__all__ = ["ConversationEntry", "Excerpt", "Store"]

publish_exports(globals())
