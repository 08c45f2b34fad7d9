"""Provider servers for tests: they speak the four APIs, play a script, and reject what the real ones reject.

    with Fake([call("weather", city="Oslo"), "It rains."]) as fake:
        client = anthropic.Anthropic(base_url=fake.base_url("anthropic"), api_key="any")

The room knows JSON and HTTP, not conversations: it must judge what others send, so it shares nothing with the code
that sends but the rules and a few helpers. Importing it loads no server; that happens when a fake is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon._public import lazy

if TYPE_CHECKING:
    from antiphon.fakes.exchange import echo
    from antiphon.fakes.fake import Fake
    from antiphon.fakes.script import Answer, Call, Cite, Fail, Received, ServerCall, Step, call
    from antiphon.fakes.script_file import load_script

__all__ = ["Answer", "Call", "Cite", "Fail", "Fake", "Received", "ServerCall", "Step", "call", "echo", "load_script"]

# pytest imports the room wherever antiphon is installed, for the fixture; most of its runs need nothing else of it.
_HOMES = {
    **dict.fromkeys(("Answer", "Call", "Cite", "Fail", "Received", "ServerCall", "Step", "call"), "script"),
    "echo": "exchange",
    "Fake": "fake",
    "load_script": "script_file",
}
__getattr__ = lazy(__name__, _HOMES)
