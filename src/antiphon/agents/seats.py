"""A seat in channels: a session that hears what is said in them, posts in them, and answers what is said to it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from inspect import isawaitable
from typing import Any

from antiphon.agents.channels import Channel, Message, as_name, deliver
from antiphon.conversation import Conversation, ToolResult
from antiphon.conversation.attribution import HUMAN
from antiphon.effects import RunPython, Step, aperform, place
from antiphon.errors import AntiphonError, ContentError
from antiphon.session import AIResult, Session
from antiphon.session.answers import spoken
from antiphon.session.portal import check_no_loop, portal
from antiphon.tools import Finish, Tool, ToolContext, ToolFailure, as_tool

#: What a model reads of a question that was put to the human.
_AWAITS = '{"success": true, "await_user": true}'
#: Longer than this is a file, not a message.
LONGEST = 20_000
#: How many messages an agent posts in one go.
_MOST = 10


def submission(tool: str, **given: Any) -> dict[str, Any]:
    """The value of a run that a tool has ended by handing something in."""
    return {"submitted": tool, "given": given}


class Seat:
    """A session in channels, the first of which is the one it posts in where it names none.

    Before each request it hears what is new, behind the results of its calls. `turn` is for new messages: it hears
    them, and lets the session answer.
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
        self.name = as_name(name)
        if self.name.lower() == HUMAN:
            raise ContentError("no session can sit in the human's place; give it another name")
        self.channels = {channel.name.rpartition("/")[2]: channel for channel in channels}
        self._task = task
        #: Who may be addressed, and what each hears; anybody, where nobody knows.
        self._members = members
        self._before = session.before_request
        session.tools = [*session.tools, self._poster(), self._asker()]
        session.before_request = self.listen

    @property
    def home(self) -> Channel:
        """The channel it posts in where it names none."""
        return next(iter(self.channels.values()))

    # Hearing

    def turn(self) -> AIResult[Any] | None:
        """Let the session answer what is new; nothing, where nothing is. An answer in words is posted."""
        check_no_loop("turn")
        return portal().run(self.aturn())

    async def aturn(self) -> AIResult[Any] | None:
        """`turn`, asynchronously."""
        heard = self.hear(os.urandom(8).hex())
        if not heard:
            return None
        result = await self.session.ago_on()
        if isinstance(result.value, str) and result.value.strip():
            last = heard[-1]
            self.home.post(result.value, self.name, to=last.author, reply_to=last.id, task=self._task)
        return result

    def hear(self, key: str) -> list[Message]:
        """Add what is new to the conversation; the same key gives the same messages."""
        heard = deliver(list(self.channels.values()), self.name, key, self._task)
        add_heard(self.session.conversation, [heard_data(each) for each in heard])
        return heard

    async def listen(self, conversation: Conversation) -> None:
        """Hear what is new, once, also where this is done again after a crash."""
        if self._before is not None and isawaitable(done := self._before(conversation)):
            await done
        where = place()
        path = where.node.next()
        key = f"{where.run or os.urandom(8).hex()}/{path}"

        async def heard() -> list[dict[str, Any]]:
            return [heard_data(each) for each in deliver(list(self.channels.values()), self.name, key, self._task)]

        effect = RunPython("hear the channels", {"reader": self.name, "channels": [*self.channels]}, is_harmless=True)
        given = await (aperform(Step(path, effect), heard) if where.performers else heard())
        add_heard(conversation, given)

    # Speaking

    def _poster(self) -> Tool:
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

    def _asker(self) -> Tool:
        def chat_ask_user(question: str, context: ToolContext[Any]) -> ToolResult:
            """Ask the human something that you cannot find out yourself; the answer comes later, as the human's words.

            To ask several things at once, call this several times in one reply.

            Args:
                question: One question, with all that is needed to answer it.
            """
            self._say(question, HUMAN, "", "question", context.key)
            raise Finish(submission("chat_ask_user", question=question), _AWAITS)

        return as_tool(chat_ask_user, idempotent=True, concurrent=False)

    def _say(self, text: str, to: str, channel: str, kind: str, key: str) -> Message:
        if channel and channel not in self.channels:
            raise ToolFailure(f"there is no channel `{channel}` for you; there are: {', '.join(self.channels)}")
        if len(text) > LONGEST:
            raise ToolFailure(f"a message has at most {LONGEST:,} characters, and this has {len(text):,}: not posted")
        to = self._known(to)
        where = self.channels[self._reaching(to, channel)]
        turn = key.rpartition("/")[0]
        if sum(each.count(self.name, turn, key) for each in self.channels.values()) >= _MOST:
            raise ToolFailure(f"not posted: you have posted {_MOST} messages in this turn; go on with your work")
        try:
            return where.post(text, self.name, to=to, kind=kind, task=self._task, key=key)
        except AntiphonError as error:
            raise ToolFailure(str(error)) from None

    def _known(self, to: str) -> str:
        """Somebody by his own name, however it is written."""
        if not to or self._members is None:
            return to
        written = f"@{to.removeprefix('@')}".casefold()
        name = next((each for each in self._members if each.casefold() == written), None)
        if name is None:
            raise ToolFailure(f"there is nobody called `{to}`; there are: {', '.join(self._members)}")
        return name

    def _reaching(self, to: str, channel: str) -> str:
        """The channel in which somebody is told something: the one that is named, else the first that he hears."""
        heard = self._members[to] if to and self._members is not None else self.channels
        found = [each for each in self.channels if each in heard and channel in ("", each)]
        if not found:
            raise ToolFailure(f"not posted: {to} does not hear {f'`{channel}`' if channel else 'you'}")
        return found[0]


def add_heard(conversation: Conversation, heard: Sequence[dict[str, Any]]) -> None:
    """Add messages to a conversation: the human's words as they are, those of others with their names."""
    answers = [each for each in heard if each["author"] == HUMAN and each.get("asked")]
    for each in heard:
        text: str = each["text"]
        if each in answers and len(answers) > 1:
            text = spoken([(each["asked"], text)], is_one_of_several=True)[0]
        conversation.add_user(text, author=each["author"])


def heard_data(message: Message) -> dict[str, Any]:
    """What a conversation needs of a message; of an answer also what was asked."""
    asked = {"asked": message.data["asked"]} if message.kind == "answer" and "asked" in message.data else {}
    return {"id": message.id, "author": message.author, "text": message.text, **asked}
