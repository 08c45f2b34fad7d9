"""Effects on disk: what a run has done is not done again when it is begun anew, after a crash or a week of waiting.

`Journal` is where to begin. This room knows effects and where they are stored, and nothing of the language: programs,
sessions and plain code inside `with journal.run("nightly-7"):` come to the same point by themselves, because what they
did before gives the outcomes of then.
"""

from antiphon._public import publish
from antiphon.journal.entries import Changed, Entries
from antiphon.journal.journal import Journal, RunEntry, TakenOver, Unfinished

__all__ = ["Changed", "Entries", "Journal", "RunEntry", "TakenOver", "Unfinished"]

publish(globals())
