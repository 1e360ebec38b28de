"""The line below a plan: which key starts it, and from when on."""

from __future__ import annotations

from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from tui.app.terminal import actions
from tui.app.widgets.lines import show_text

READ_S = 0.5  # how long a plan is on the screen before a key starts it
STARTS = next(action.keys for action in actions.REVIEW if action.id == "review.launch")
WAITS = "Enter came early: starts in a moment; any other key stops that"
EARLY = "the plan is shown first: press Enter again"


class LaunchLine(Static):
    """Says which key starts the plan, once it could be read.

    It tells a key that came a moment too early, which starts the plan then, from one that is held
    down, or was meant for the screen before.
    """

    class Seen(Message):
        """The plan has been on the screen for long enough.

        `starts`: a key that came early starts it now.
        """

        def __init__(self, starts: bool) -> None:
            super().__init__()
            self.starts = starts

    def __init__(self) -> None:
        super().__init__(id="review-launch")
        self.seen = False  # the plan has been on the screen for long enough
        self.early = 0  # keys that came before that
        self.plan_text = ""
        self.typing = False  # a field has the focus, where Enter ends the typing
        self.unready = ""  # which hosts answered that they would refuse the plan
        self._seeing: Timer | None = None

    @property
    def waits(self) -> bool:
        """Whether one key came early, and starts the plan as soon as it has been seen.

        A second one is a held key.
        """
        return self.early == 1 and not self.seen

    def hold(self) -> None:
        """Let no key start another plan, which nobody has seen."""
        self.seen = False
        self.call_after_refresh(self.wait_for_reader)

    def wait_for_reader(self) -> None:
        """The plan is on the screen; begin to wait, again when a key was pressed too early."""
        if self._seeing is not None:
            self._seeing.stop()
        self._seeing = self.set_timer(READ_S, self.plan_seen)

    def plan_seen(self) -> None:
        """Let keys start the plan from now on."""
        starts, self.seen = self.waits, True
        self.post_message(self.Seen(starts))

    def come_early(self) -> None:
        """Keep a key that came before the plan could be read."""
        self.early += 1
        show_text(self, self.launch_text())
        self.wait_for_reader()

    def take_back(self) -> None:
        """Forget a key that came early: another one was pressed."""
        if self.waits:
            self.early = 0
            show_text(self, self.launch_text())

    def show_launch(self, plan_text: str, *, typing: bool, unready: str) -> None:
        """Say which key starts this plan."""
        self.plan_text, self.typing, self.unready = plan_text, typing, unready
        show_text(self, self.launch_text())

    def launch_text(self) -> Content:
        """Return which key starts the plan, once it does.

        A key that came too early has to come again.
        """
        if not self.seen:
            return (
                Content.styled(WAITS if self.waits else EARLY, "$warn") if self.early else Content()
            )
        if self.typing:
            return Content.styled(self.plan_text, "$dim")
        key = ("Enter ", "bold $accent")
        if self.unready:
            return Content.assemble((f"{self.unready}; ", "$warn"), key, ("tries anyway", "$warn"))
        if self.early:
            key_again = ("press ", "$warn"), key, ("again: ", "$warn")
            return Content.assemble(*key_again, (self.plan_text, "bold $bright"))
        return Content.assemble(key, (self.plan_text, "bold $bright"))
