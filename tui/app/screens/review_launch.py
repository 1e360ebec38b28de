"""Review: what the preflight found, what is missing, which key launches and when."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from textual import events
from textual.content import Content
from textual.timer import Timer

from tui.app.frame.step_screen import StepScreen
from tui.app.screens.review_plan import INDENT
from tui.app.services.resuming import known
from tui.app.terminal import actions
from tui.app.terminal.theme import Symbols
from tui.metrics import units
from tui.metrics.facts import compare
from tui.model.hostfacts import Fact
from tui.model.plain import some
from tui.model.problem import BenchtuiError
from tui.text.facts import differing_lines, machine_lines
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, Line, Run, heading, indented, labelled

if TYPE_CHECKING:
    from tui.app.frame.shell import AppShell
    from tui.engine.preflight.preview import HostReadiness
    from tui.model.plan import Plan


class Preflight:
    """The answers of the hosts to one plan; another plan makes them void, for good."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.plan: Plan | None = None
        self.answers: Sequence[HostReadiness] = ()
        self.asked_at = 0.0

    def take(self, plan: Plan, answers: Sequence[HostReadiness]) -> None:
        """Keep the answers to a plan."""
        self.plan, self.answers, self.asked_at = plan, answers, self.clock()

    def hold_for(self, plan: Plan | None) -> None:
        """Forget the answers unless they are about this very plan."""
        if plan != self.plan:
            self.plan, self.answers = None, ()

    @property
    def age_s(self) -> float:
        """Seconds since the hosts answered."""
        return self.clock() - self.asked_at


AGES_S = 5.0  # the step in which an age is told


def age_text(age_s: float) -> str:
    """Return how old a preflight is."""
    steps = int(age_s // AGES_S)
    return f"{units.duration(steps * AGES_S)} ago" if steps else "just now"


def ahead_lines(answers: Sequence[HostReadiness], age_s: float, symbols: Symbols, width: int) -> list[Line]:
    """Return the answers and how old they are, refusals first; hosts that say the same share a line."""
    bad = [each for each in answers if each.problems]
    ready = f": {len(answers) - len(bad)} of {len(answers)} hosts ready" if len(answers) > 1 else ""
    lines = [heading(f"preflight {age_text(age_s)}{ready}")]
    for problems in dict.fromkeys(each.problems for each in bad):
        hosts = some(each.host for each in bad if each.problems == problems)
        mark: Run = (f"{symbols.bad} ", BAD)
        for problem in problems:
            lines += indented([mark, (hosts, BRIGHT), (f"  {problem}", BAD)], width)
    for said in dict.fromkeys(each.said for each in answers if not each.problems):
        hosts = some(each.host for each in answers if each.said == said and not each.problems)
        lines += indented([(f"{symbols.ok} ", GOOD), (hosts, TEXT), (f"  {said}", LABEL)], width)
    return [*lines, Line()]


def difference_lines(facts: Mapping[str, Mapping[str, Fact]], width: int) -> list[Line]:
    """Return which hosts are one machine and what they differ in, as far as they were looked at."""
    found = (*machine_lines(facts), *differing_lines(compare(facts)))
    lines = [line for label, runs in found for line in labelled([(label, LABEL)], runs, width, INDENT)]
    return [*lines, Line()] if lines else []


def unready(answers: Sequence[HostReadiness]) -> str:
    """Return how many hosts are not ready, as what stands before "Enter"; empty when all are, or none was asked."""
    bad = [each for each in answers if each.problems]
    held = sum(each.in_use for each in bad)
    if not bad:
        return ""
    if len(answers) == 1:
        return f"{bad[0].host} is {'in use by another run' if held else 'not ready'}"
    if held == len(bad):
        return f"{held} of {len(answers)} hosts in use by another run"
    return f"{len(bad)} of {len(answers)} hosts not ready" + (f", {held} in use by another run" if held else "")


def refusal(answers: Sequence[HostReadiness]) -> str:
    """Return how many hosts would refuse the run, empty when none would."""
    bad = [each.host for each in answers if each.problems]
    return f"{some(bad)} would refuse this run: see the preflight" if bad else ""


class Launch(Struct, frozen=True):
    """What is known of a launch: the plan in a line, and whether a key starts it."""

    said: str
    taken: bool  # the plan was on the screen for long enough
    early: bool = False  # somebody pressed the key before that
    waits: bool = False  # once, so that it starts the plan by itself
    typing: bool = False  # a field has the focus, where Enter ends the typing
    unready: str = ""  # which hosts said that they would refuse it


WAITS = "Enter came early: starts in a moment; any other key stops that"
EARLY = "the plan is shown first: press Enter again"


def launch_content(launch: Launch) -> Content:
    """Return which key starts the plan, once it does; a key that came too early is told to come again."""
    if not launch.taken:
        return Content.styled(WAITS if launch.waits else EARLY, "$warn") if launch.early else Content()
    if launch.unready and not launch.typing:
        return Content.assemble((f"{launch.unready}; ", "$warn"), ("Enter ", "bold $accent"), ("tries anyway", "$warn"))
    if launch.typing:
        return Content.styled(launch.said, "$dim")
    key = Content.assemble(("press ", "$warn") if launch.early else "", ("Enter ", "bold $accent"))
    return Content.assemble(key, ("again: ", "$warn") if launch.early else "", (launch.said, "bold $bright"))


Way = tuple[str, str, str]
"""A key, its name in the footer, and what it leads to."""
RECENT = 20  # runs that are looked at for one whose hosts are all known


def missing_keys(shell: AppShell) -> list[Way]:
    """Return how to go on, what comes first before what takes a shorter way."""
    selection = shell.selection
    if selection.ticked:
        return [("2", "profiles", "choose a profile first")]
    first = "choose hosts first"
    if selection.servers:
        first = f"choose a host that generates load; only looked at: {some(selection.servers)}"
    ways = [("1", "hosts", first), way("review.local", "run on this machine")]
    if names := last_hosts(shell):
        ways.append(way("review.last-hosts", f"run on the hosts of the last run: {some(names)}"))
    return ways


def way(action_id: str, says: str) -> Way:
    """Return a way that is an action of this screen."""
    action = next(each for each in actions.in_scope("review") if each.id == action_id)
    return actions.key_name(action.keys[0]), action.label, says


def missing_content(ways: Sequence[Way]) -> Content:
    """Return the ways under each other."""
    return Content("\n").join([Content.assemble((key, "bold $accent"), f" {says}") for key, _, says in ways])


def last_hosts(shell: AppShell) -> list[str]:
    """Return the hosts of the newest run whose hosts are all known; nothing when there is none."""
    try:
        for run in shell.store.list(RECENT):
            names, gone = known(run.hosts, shell.fleet)
            if names and not gone:
                return names
    except BenchtuiError:
        pass  # Runs and Hosts say why
    return []


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
