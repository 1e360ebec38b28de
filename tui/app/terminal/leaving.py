"""Callbacks that arrive while the widget that asked for them is being removed."""

from __future__ import annotations

from textual._callback import invoke
from textual._context import active_message_pump
from textual._types import CallbackType
from textual.css.query import NoMatches
from textual.message_pump import MessagePump
from textual.widget import Widget


def is_leaving(node: MessagePump | None = None) -> bool:
    """Return whether a widget, or the one that handles the current message, is being removed."""
    node = node or active_message_pump.get(None)
    return isinstance(node, Widget) and (node._pruning or not node.is_attached)


class CalmScreen:
    """A mixin for screens that ignores NoMatches in callbacks of widgets that are being removed.

    Textual runs the callbacks of `call_after_refresh` on whichever screen is shown by then; an
    error in one would end the app.
    """

    def _invoke_later(self, callback: CallbackType, sender: MessagePump) -> None:
        async def call() -> None:
            try:
                await invoke(callback)
            except NoMatches:
                if not is_leaving(sender):
                    raise

        super()._invoke_later(call, sender)  # type: ignore[misc]  # that of Screen
