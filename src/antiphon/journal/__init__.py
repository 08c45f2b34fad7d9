"""Effects on disk: what a run has done is not done again when it is begun anew, after a crash or a week of waiting.

`Journal` is where to begin. This room knows effects and where they are stored, and nothing of the language: programs,
sessions and plain code inside `with journal.run("nightly-7"):` come to the same point by themselves, because what they
did before gives the outcomes of then.
"""

from antiphon._public import publish
from antiphon.journal.entries import Changed
from antiphon.journal.journal import Journal, JournalFailed, Running, TakenOver, Unfinished
from antiphon.journal.looking import EffectEntry, QuestionEntry, RunEntry

__all__ = [
    "Changed",
    "EffectEntry",
    "Journal",
    "JournalFailed",
    "QuestionEntry",
    "RunEntry",
    "Running",
    "TakenOver",
    "Unfinished",
]

publish(globals())
