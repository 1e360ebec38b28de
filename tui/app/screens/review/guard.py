"""Which key starts a plan: none before it has been on the screen, and one that came early starts it then."""

from __future__ import annotations

from textual import events
from textual.timer import Timer

from tui.app.frame.base import StepScreen
from tui.app.keys import actions

READ_S = 0.5  # how long a plan is on the screen before a key starts it
STARTS = next(action.keys for action in actions.REVIEW if action.id == "review.launch")


class LaunchGuard:
    """Tells a key that came a moment too early from one that is held down, or was meant for the screen before."""

    def __init__(self) -> None:
        self.seen = False  # the plan has been on the screen for long enough
        self.early = 0  # keys that came before that

    def hold(self) -> None:
        """Another plan is shown: nobody has seen it."""
        self.seen = False

    def forget(self) -> None:
        """Take back a key that came early: another one was pressed, or the screen was left."""
        self.early = 0

    def come_early(self) -> None:
        """Count a key that came before the plan was seen."""
        self.early += 1

    @property
    def waits(self) -> bool:
        """Whether one key came early, and starts the plan as soon as it has been seen; a second one is a held key."""
        return self.early == 1 and not self.seen

    def see(self) -> bool:
        """The plan has been seen; return whether it is to be started at once."""
        waits, self.seen = self.waits, True
        return waits


class GuardedScreen(StepScreen):
    """A screen with a plan that a key starts once it could be read."""

    def __init__(self) -> None:
        super().__init__()
        self.guard = LaunchGuard()
        self._seeing: Timer | None = None

    @property
    def can_launch(self) -> bool:
        """Whether a key that came early may start the plan now."""
        raise NotImplementedError

    def show_launch(self) -> None:
        """Say which key starts the plan."""
        raise NotImplementedError

    def action_launch(self) -> None:
        """Start the plan."""
        raise NotImplementedError

    def hold_launch(self) -> None:
        """Let no key start what nobody has seen: one that is held down, or was meant for the screen before."""
        self.guard.hold()
        self.call_after_refresh(self.wait_for_reader)

    def wait_for_reader(self) -> None:
        """The plan is on the screen; begin to wait, again when a key was pressed too early."""
        if self._seeing is not None:
            self._seeing.stop()
        self._seeing = self.set_timer(READ_S, self.plan_seen)

    def plan_seen(self) -> None:
        """Say which key starts the plan, and obey one that came a moment before."""
        starts = self.guard.see()
        self.show_launch()
        if starts and self.can_launch:
            self.action_launch()

    def come_early(self) -> None:
        """Keep a key that came before anybody could read the plan; one that is held down has to come again."""
        self.guard.come_early()
        self.show_launch()
        self.wait_for_reader()

    def on_key(self, event: events.Key) -> None:
        """Another key takes back one that came early."""
        if self.guard.waits and event.key not in STARTS:
            self.guard.forget()
            self.show_launch()

    def on_screen_suspend(self) -> None:
        """Whoever comes back has pressed nothing yet."""
        self.guard.forget()
