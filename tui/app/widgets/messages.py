"""What the run and its tools said: the last lines, or all of them to scroll through."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from textual import events

from tui.app.keys import actions
from tui.app.widgets.lines import Lines
from tui.metrics.units import clock
from tui.text.line import LABEL, TEXT, Line, fit, rule

SEVERITY_KEYS = {"info": LABEL, "warning": "warn", "error": "bad"}
NOTHING_TOLD, ELSEWHERE = "none", "all is said above"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One message: run time in seconds, severity, the host it came from (empty: the engine), its text."""

    t: float
    severity: str
    host: str
    text: str


class MessageLog(Lines, can_focus=True):
    """The newest lines at the bottom. `scroll_back` counts lines between the newest and the last one shown."""

    BINDINGS = actions.bindings("list")
    DEFAULT_CSS = "MessageLog { padding: 0 1; }"

    def __init__(self, marks: dict[str, str], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.marks = marks
        self.messages: Sequence[LogLine] = ()
        self.scroll_back = 0
        self.whole = False
        self.empty = NOTHING_TOLD

    def show(self, messages: Sequence[LogLine]) -> None:
        """Show these messages. A reader who has scrolled back stays where he is."""
        if self.scroll_back:
            self.scroll_back += len(messages) - len(self.messages)
        self.messages = messages
        self._clamp(self.size.height)
        self.update_lines()

    def scroll_by(self, lines: int) -> None:
        """Go back in time (positive) or forward again."""
        self.scroll_back += lines
        self._clamp(self.size.height)
        self.update_lines()

    def action_down(self) -> None:
        """Newer lines."""
        self.scroll_by(-1)

    def action_up(self) -> None:
        """Older lines."""
        self.scroll_by(1)

    def action_top(self) -> None:
        """The oldest line."""
        self.scroll_by(len(self.messages))

    def action_bottom(self) -> None:
        """The newest line."""
        self.scroll_by(-len(self.messages))

    def action_page_down(self) -> None:
        """Half a screen newer."""
        self.scroll_by(-max(1, self.size.height // 2))

    def action_page_up(self) -> None:
        """Half a screen older."""
        self.scroll_by(max(1, self.size.height // 2))

    def _clamp(self, height: int) -> None:
        self.scroll_back = max(0, min(self.scroll_back, len(self.messages) - (height - 1)))

    def build(self, width: int, height: int) -> list[Line]:
        """A heading and the lines that fit under it."""
        end = len(self.messages) - self.scroll_back
        shown = self.messages[max(0, end - (height - 1)) : end]
        lines = [line for message in shown for line in self._lines(message, width)]
        body = lines[max(0, len(lines) - (height - 1)) :]
        return [rule("Messages", self._tail(end), width), *body][:height]

    def _tail(self, end: int) -> str:
        if not self.messages:
            return self.empty
        position = f"{end} of " if self.scroll_back else ""
        return f"{position}{len(self.messages)}{'' if self.whole else ' · L all'}"

    def _lines(self, message: LogLine, width: int) -> list[Line]:
        """Return a message in one line; in as many as it needs while all messages are shown."""
        stamp = f"{clock(message.t):>7} "
        mark = self.marks.get(message.severity, " ") + " "
        host = f"{message.host}  " if message.host else ""
        room = width - len(stamp) - len(mark)
        key = SEVERITY_KEYS.get(message.severity, TEXT)
        parts = textwrap.wrap(host + message.text, max(10, room)) if self.whole else []
        first, *more = parts or [fit(host + message.text, room).rstrip()]
        line = Line.of((stamp, LABEL), (mark, key), (first[: len(host)], LABEL), (first[len(host) :], TEXT))
        return [line, *(Line.of((" " * (width - room), LABEL), (part, TEXT)) for part in more)]

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Older lines."""
        event.stop()
        self.scroll_by(1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Newer lines."""
        event.stop()
        self.scroll_by(-1)
