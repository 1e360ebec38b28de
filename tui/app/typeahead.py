"""Keys that were typed ahead go where the focus has gone meanwhile.

Textual hands each key to the widget that has the focus when the key arrives. On a slow link ``/weka`` arrives in one
piece: all five keys would go to the list, where ``/`` opens the filter and ``a`` ticks every host.
"""

from __future__ import annotations

from typing import TypeVar
from weakref import WeakKeyDictionary

from textual import events
from textual.app import App
from textual.widget import Widget

Result = TypeVar("Result")


class TypeAheadApp(App[Result]):
    """An app that looks, before a key has its effect, whether the focus is still where the key was sent."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._key_targets: WeakKeyDictionary[events.Key, Widget] = WeakKeyDictionary()

    async def on_event(self, event: events.Event) -> None:
        """Remember where a new key is sent."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._key_targets[event] = self.focused or self.screen
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """Send a key on that nobody has used, when the focus has moved since; else it has its effect."""
        target = self.focused or self.screen
        if self._key_targets.get(event, target) is not target:
            event.prevent_default()
            again = events.Key(event.key, event.character)
            self._key_targets[again] = target
            target._forward_event(again)
