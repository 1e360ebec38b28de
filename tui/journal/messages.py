"""Lines for the operator: the newest for screens, the first for the record."""

from __future__ import annotations

from msgspec import Struct, field

from tui.model.event import Message, Severity

KEPT_NEWEST = 500
KEPT_FIRST = 2000


class MessageLine(Struct, frozen=True):
    """A line for the operator; `host` None is the engine."""

    t: float
    severity: Severity
    host: str | None
    text: str


class RunMessages(Struct):
    """What was said in a run: `newest` of all lines, `first` of those in the journal, and how many
    more there are.
    """

    newest: list[MessageLine] = field(default_factory=list)
    first: list[Message] = field(default_factory=list)
    dropped: int = 0

    def take(self, event: Message) -> None:
        """Take a line of the journal."""
        if len(self.first) < KEPT_FIRST:
            self.first.append(event)
        else:
            self.dropped += 1
        self.say(event.t, event.severity, event.host, event.text)

    def say(self, t: float, severity: Severity, host: str | None, text: str) -> None:
        """Add a line that is not in the journal."""
        self.newest.append(MessageLine(t, severity, host, text))
        if len(self.newest) > 2 * KEPT_NEWEST:
            del self.newest[:-KEPT_NEWEST]
