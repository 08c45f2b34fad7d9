"""All tables and all SQL: sessions, their steps and their turns, in an SQLite file or in PostgreSQL.

The modules have the queries of one table each, for `durable` and the packages above it; `antiphon.Store` is the public
class. This package knows nothing of commands or terminals.
"""

from antiphon._base.lazy_exports import publish_exports
from antiphon.storage.conversation_entry import ConversationEntry
from antiphon.storage.search import Excerpt

__all__ = ["ConversationEntry", "Excerpt"]

publish_exports(globals())
