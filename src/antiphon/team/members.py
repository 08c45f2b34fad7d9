"""Channel members: sessions that receive the messages of channels, post in them and answer."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from antiphon.conversation import Conversation, ToolResult
from antiphon.conversation.attribution import HUMAN_AUTHOR
from antiphon.effects import EffectCall, RunPython, aperform, current_context
from antiphon.errors import AntiphonError, ContentError
from antiphon.session import AIResult, Session
from antiphon.session.pending_answers import format_answers
from antiphon.session.sync_bridge import check_no_running_loop, get_event_loop_thread
from antiphon.team.channels import Channel, ChannelMessage, deliver_messages, normalize_member_name
from antiphon.tools import FinishRun, Tool, ToolContext, ToolFailure, as_tool

#: The tool result of a question that awaits the human's answer.
_AWAITING_RESULT = '{"success": true, "await_user": true}'
#: Longer text belongs in a file.
MAX_MESSAGE_LENGTH = 20_000
#: How many messages an agent may post in one turn.
_MAX_POSTS_PER_TURN = 10


def make_submission(tool: str, **given: Any) -> dict[str, Any]:
    """Return the value of a run that a tool ended with a submission."""
    return {"submitted": tool, "given": given}


class ChannelMember:
    """A session that takes part in channels; it posts in the first one by default.

    New messages are added before each request, after the tool results. `turn` delivers new messages and
    lets the session answer them.
    """

    def __init__(
        self,
        session: Session[Any],
        name: str,
        channels: Sequence[Channel],
        *,
        task: str = "",
        members: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.session = session
        self.name = normalize_member_name(name)
        if self.name.lower() == HUMAN_AUTHOR:
            raise ContentError("no session can sit in the human's place; give it another name")
        self.channels = {channel.name.rpartition("/")[2]: channel for channel in channels}
        self._task = task
        #: The members that may be addressed, with their channels; `None` allows any name.
        self._members = members
        session.tools = [*session.tools, self._make_post_tool(), self._make_ask_tool()]
        session.before_request = [*session.before_request, self.listen]

    @property
    def home(self) -> Channel:
        """The channel in which it posts by default."""
        return next(iter(self.channels.values()))

    # Receiving

    def turn(self) -> AIResult[Any] | None:
        """Let the session answer new messages; return `None` if there are none. A text answer is posted."""
        check_no_running_loop("turn")
        return get_event_loop_thread().run(self.aturn())

    async def aturn(self) -> AIResult[Any] | None:
        """Run `turn` asynchronously."""
        heard = self.hear(os.urandom(8).hex())
        if not heard:
            return None
        result = await self.session.aresume()
        if isinstance(result.value, str) and result.value.strip():
            last = heard[-1]
            self.home.post(result.value, self.name, to=last.author, reply_to=last.id, task=self._task)
        return result

    def hear(self, key: str) -> list[ChannelMessage]:
        """Add new messages to the conversation; the same key yields the same messages."""
        heard = self._deliver(key)
        add_received_messages(self.session.conversation, [received_message_json(each) for each in heard])
        return heard

    def _deliver(self, key: str) -> list[ChannelMessage]:
        return deliver_messages(list(self.channels.values()), self.name, key, self._task)

    async def listen(self, conversation: Conversation) -> None:
        """Add new messages to the conversation exactly once, also when replayed after a crash."""
        where = current_context()
        path = where.node.next()
        key = f"{where.run or os.urandom(8).hex()}/{path}"

        async def deliver_new() -> list[dict[str, Any]]:
            return [received_message_json(each) for each in self._deliver(key)]

        effect = RunPython("hear the channels", {"reader": self.name, "channels": [*self.channels]}, is_harmless=True)
        given = await (aperform(EffectCall(path, effect), deliver_new) if where.performers else deliver_new())
        add_received_messages(conversation, given)

    # Posting

    def _make_post_tool(self) -> Tool:
        def chat_post(text: str, context: ToolContext[Any], to: str = "", channel: str = "") -> str:
            """Say something in a channel. Nothing comes back: who is addressed answers when it has read it.

            Args:
                text: What to say; a long text belongs into a file.
                to: Whom it is for, such as `@coder-2` or `@human`; all, if it is left out.
                channel: Where to say it, if not in your own channel.
            """
            said = self._say(text, to, channel, "chat", context.key)
            return f"posted as #{said.id}"

        return as_tool(chat_post, idempotent=True, concurrent=False)

    def _make_ask_tool(self) -> Tool:
        def chat_ask_user(question: str, context: ToolContext[Any]) -> ToolResult:
            """Ask the human something that you cannot find out yourself; the answer comes later, as the human's words.

            To ask several things at once, call this several times in one reply.

            Args:
                question: One question, with all that is needed to answer it.
            """
            self._say(question, HUMAN_AUTHOR, "", "question", context.key)
            raise FinishRun(make_submission("chat_ask_user", question=question), _AWAITING_RESULT)

        return as_tool(chat_ask_user, idempotent=True, concurrent=False)

    def _say(self, text: str, to: str, channel: str, kind: str, key: str) -> ChannelMessage:
        if channel and channel not in self.channels:
            raise ToolFailure(f"there is no channel `{channel}` for you; there are: {', '.join(self.channels)}")
        if len(text) > MAX_MESSAGE_LENGTH:
            raise ToolFailure(
                f"a message has at most {MAX_MESSAGE_LENGTH:,} characters, and this has {len(text):,}: not posted"
            )
        to = self._known(to)
        where = self.channels[self._reaching(to, channel)]
        turn = key.rpartition("/")[0]
        if sum(each.count(self.name, turn, key) for each in self.channels.values()) >= _MAX_POSTS_PER_TURN:
            raise ToolFailure(
                f"not posted: you have posted {_MAX_POSTS_PER_TURN} messages in this turn; go on with your work"
            )
        try:
            return where.post(text, self.name, to=to, kind=kind, task=self._task, key=key)
        except AntiphonError as error:
            raise ToolFailure(str(error)) from None

    def _known(self, to: str) -> str:
        """Return the member name that `to` refers to, ignoring case."""
        if not to or self._members is None:
            return to
        written = f"@{to.removeprefix('@')}".casefold()
        name = next((each for each in self._members if each.casefold() == written), None)
        if name is None:
            raise ToolFailure(f"there is nobody called `{to}`; there are: {', '.join(self._members)}")
        return name

    def _reaching(self, to: str, channel: str) -> str:
        """Return the named channel, or else the first one that the recipient reads."""
        heard = self._members[to] if to and self._members is not None else self.channels
        found = [each for each in self.channels if each in heard and channel in ("", each)]
        if not found:
            raise ToolFailure(f"not posted: {to} does not hear {f'`{channel}`' if channel else 'you'}")
        return found[0]


def add_received_messages(conversation: Conversation, heard: Sequence[dict[str, Any]]) -> None:
    """Add messages to a conversation: the human's as user text, those of others with their names."""
    answers = [each for each in heard if each["author"] == HUMAN_AUTHOR and each.get("asked")]
    for each in heard:
        text: str = each["text"]
        if each in answers and len(answers) > 1:
            text = format_answers([(each["asked"], text)], is_one_of_several=True)[0]
        conversation.add_user(text, author=each["author"])


def received_message_json(message: ChannelMessage) -> dict[str, Any]:
    """Return the fields of a message that a conversation needs; an answer includes its question."""
    asked = {"asked": message.data["asked"]} if message.kind == "answer" and "asked" in message.data else {}
    return {"id": message.id, "author": message.author, "text": message.text, **asked}
