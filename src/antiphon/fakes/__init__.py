"""Fake provider servers for tests: they implement every API of `wire`, play a script, and reject what the real
ones reject.

    with Fake([call("weather", city="Oslo"), "It rains."]) as fake:
        client = anthropic.Anthropic(base_url=fake.base_url("anthropic"), api_key="any")

This package knows JSON and HTTP, not conversations. It must judge what others send, so it shares nothing with
the sending code but the rules and a few helpers. Importing it loads no server; that happens when a fake is
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.fakes.batches import BatchPlan
    from antiphon.fakes.fake import Fake
    from antiphon.fakes.faults import Faults
    from antiphon.fakes.request_handler import echo
    from antiphon.fakes.script import Answer, Call, Cite, Fail, Received, ScriptMismatch, ServerCall, Step, call
    from antiphon.fakes.script_file import load_script

__all__ = [
    "Answer",
    "BatchPlan",
    "Call",
    "Cite",
    "Fail",
    "Fake",
    "Faults",
    "Received",
    "ScriptMismatch",
    "ServerCall",
    "Step",
    "call",
    "echo",
    "load_script",
]

# pytest imports this package wherever antiphon is installed, for the fixture; most runs need nothing else of it.
_MODULE_BY_NAME = {
    **dict.fromkeys(
        ("Answer", "Call", "Cite", "Fail", "Received", "ScriptMismatch", "ServerCall", "Step", "call"), "script"
    ),
    "BatchPlan": "batches",
    "echo": "request_handler",
    "Fake": "fake",
    "Faults": "faults",
    "load_script": "script_file",
}
__getattr__ = make_lazy_getattr(__name__, _MODULE_BY_NAME)
