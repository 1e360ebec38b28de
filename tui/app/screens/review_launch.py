"""The line below a plan: which key starts it, once it has been shown long enough."""

from __future__ import annotations

from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from tui.app.terminal import actions
from tui.app.widgets.lines import show_text

READ_S = 0.5  # time a plan is on the screen before a key starts it
STARTS = next(action.keys for action in actions.REVIEW if action.id == "review.launch")
WAITS = "starting in a moment; any other key cancels"
EARLY = "plan just changed: press Enter again"


class LaunchLine(Static):
    """Shows which key starts the plan, once it has been on the screen long enough.

    A key pressed slightly early starts the plan then; one held down, or meant for the previous
    screen, does not.
    """

    class Seen(Message):
        """The plan has been on the screen for long enough.

        `starts`: a key pressed early starts it now.
        """

        def __init__(self, starts: bool) -> None:
            super().__init__()
            self.starts = starts

    def __init__(self) -> None:
        super().__init__(id="review-launch")
        self.seen = False  # the plan has been on the screen for long enough
        self.early = 0  # keys pressed before that
        self.plan_text = ""
        self.typing = False  # a field has the focus: Enter ends typing
        self.unready = ""  # which hosts would refuse the plan
        self._seeing: Timer | None = None

    @property
    def waits(self) -> bool:
        """Whether one key was pressed early, and starts the plan once it has been seen.

        A second one is a held key.
        """
        return self.early == 1 and not self.seen

    def hold(self) -> None:
        """Block keys until the new plan has been seen."""
        self.seen = False
        self.call_after_refresh(self.wait_for_reader)

    def wait_for_reader(self) -> None:
        """Start the waiting time, again after an early key."""
        if self._seeing is not None:
            self._seeing.stop()
        self._seeing = self.set_timer(READ_S, self.plan_seen)

    def plan_seen(self) -> None:
        """Allow keys to start the plan."""
        starts, self.seen = self.waits, True
        self.post_message(self.Seen(starts))

    def come_early(self) -> None:
        """Remember a key pressed too early."""
        self.early += 1
        show_text(self, self.launch_text())
        self.wait_for_reader()

    def take_back(self) -> None:
        """Forget an early key: another one was pressed."""
        if self.waits:
            self.early = 0
            show_text(self, self.launch_text())

    def show_launch(self, plan_text: str, *, typing: bool, unready: str) -> None:
        """Show which key starts this plan."""
        self.plan_text, self.typing, self.unready = plan_text, typing, unready
        show_text(self, self.launch_text())

    def launch_text(self) -> Content:
        """Return which key starts the plan, once keys do.

        A key pressed too early must be pressed again.
        """
        if not self.seen:
            return (
                Content.styled(WAITS if self.waits else EARLY, "$warn") if self.early else Content()
            )
        if self.typing:
            return Content.styled(self.plan_text, "$dim")
        key = ("Enter ", "bold $accent")
        if self.unready:
            return Content.assemble(
                (f"{self.unready}; ", "$warn"), key, ("starts it anyway", "$warn")
            )
        if self.early:
            key_again = ("press ", "$warn"), key, ("again: ", "$warn")
            return Content.assemble(*key_again, (self.plan_text, "bold $bright"))
        return Content.assemble(key, (self.plan_text, "bold $bright"))
