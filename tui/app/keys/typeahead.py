"""One key after the other: a key is handed out when the one before it has had its effect.

Textual hands each key to the widget that has the focus when the key arrives. On a slow link ``/weka`` arrives in one
piece: all five keys would go to the list, where ``/`` opens the filter and ``a`` ticks every host; and a Tab with the
text behind it would put the text into the field before.
"""

from __future__ import annotations

from collections import deque
from typing import TypeVar

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

Result = TypeVar("Result")
PATIENCE_S = 0.5  # a widget that is removed while it holds a key never says that it is done with it


class TypeAheadApp(App[Result]):
    """An app in which keys wait for their turn."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._waiting: deque[events.Key] = deque()
        self._in_turn = 0  # number of the key that is having its effect, 0 for none
        self._turns = 0

    @property
    def key_on_its_way(self) -> bool:
        """Tell whether a key has not had its effect yet."""
        return bool(self._in_turn or self._waiting)

    async def on_event(self, event: events.Event) -> None:
        """Let a new key wait while another one is on its way."""
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
            return
        self._waiting.append(event)
        if not self._in_turn:
            await self._next_key()

    async def _next_key(self) -> None:
        event = self._waiting.popleft()
        self._turns += 1
        self._in_turn = turn = self._turns
        target: MessagePump = self.focused or self.screen
        await super().on_event(event)
        if event.is_forwarded:
            self._follow(target, event, turn)
        else:  # a priority binding took it
            self.call_later(self._turn_over, turn)
        self.set_timer(PATIENCE_S, lambda: self.call_later(self._turn_over, turn))

    def _follow(self, node: MessagePump, event: events.Key, turn: int) -> None:
        """Come back when `node` has dealt with the key: everything posted to it before is done by then."""
        if not node.call_later(self._dealt_with, node, event, turn):
            self.call_later(self._turn_over, turn)

    def _dealt_with(self, node: MessagePump, event: events.Key, turn: int) -> None:
        parent = node._parent
        if event._stop_propagation or parent is None or parent is self:
            self.call_later(self._turn_over, turn)  # what bubbled to the app stands before this in its queue
        else:
            self._follow(parent, event, turn)

    async def _turn_over(self, turn: int) -> None:
        if turn != self._in_turn:
            return
        self._in_turn = 0
        if self._waiting:
            await self._next_key()
