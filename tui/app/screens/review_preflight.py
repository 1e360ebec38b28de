"""The plan as a pane, with the preflight above it: the hosts' answers, their age, refusals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import work
from textual.message import Message

from tui.app.screens import review_plan
from tui.app.screens.review_plan import INDENT
from tui.app.services.preflight import ask_ahead
from tui.app.terminal.theme import Symbols
from tui.app.widgets.lines import TextPane, entitle
from tui.metrics import units
from tui.metrics.facts import compare
from tui.model.hostfacts import Fact
from tui.model.plain import some
from tui.text.facts import differing_lines, machine_lines
from tui.text.line import BAD, BRIGHT, GOOD, LABEL, TEXT, Line, Run, heading, indented, labelled

if TYPE_CHECKING:
    from tui.engine.preflight.host_check import HostCheck
    from tui.engine.preflight.preview import HostReadiness
    from tui.model.paths import Paths
    from tui.model.plan import Plan
    from tui.remote.vault import Asker


class Preflight:
    """The answers of the hosts to one plan; another plan discards them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.plan: Plan | None = None
        self.answers: Sequence[HostReadiness] = ()
        self.asked_at = 0.0

    def take(self, plan: Plan, answers: Sequence[HostReadiness]) -> None:
        """Keep the answers to a plan."""
        self.plan, self.answers, self.asked_at = plan, answers, self.clock()

    def hold_for(self, plan: Plan | None) -> None:
        """Forget the answers unless they are about this plan."""
        if plan != self.plan:
            self.plan, self.answers = None, ()

    @property
    def age_s(self) -> float:
        """Seconds since the hosts answered."""
        return self.clock() - self.asked_at


AGES_S = 5.0  # rounding of displayed ages


def age_text(age_s: float) -> str:
    """Return the age of a preflight."""
    steps = int(age_s // AGES_S)
    return f"{units.duration(steps * AGES_S)} ago" if steps else "just now"


def ahead_lines(
    answers: Sequence[HostReadiness], age_s: float, symbols: Symbols, width: int
) -> list[Line]:
    """Return the answers and their age, refusals first.

    Hosts with the same answer share a line.
    """
    bad = [each for each in answers if each.problems]
    ready = f": {len(answers) - len(bad)} of {len(answers)} hosts ready" if len(answers) > 1 else ""
    lines = [heading(f"preflight {age_text(age_s)}{ready}")]
    for problems in dict.fromkeys(each.problems for each in bad):
        hosts = some(each.host for each in bad if each.problems == problems)
        mark: Run = (f"{symbols.bad} ", BAD)
        for problem in problems:
            lines += indented([mark, (hosts, BRIGHT), (f"  {problem}", BAD)], width)
    for text in dict.fromkeys(each.said for each in answers if not each.problems):
        hosts = some(each.host for each in answers if each.said == text and not each.problems)
        lines += indented([(f"{symbols.ok} ", GOOD), (hosts, TEXT), (f"  {text}", LABEL)], width)
    return [*lines, Line()]


def difference_lines(facts: Mapping[str, Mapping[str, Fact]], width: int) -> list[Line]:
    """Return which hosts are the same machine, and how checked hosts differ."""
    found = (*machine_lines(facts), *differing_lines(compare(facts)))
    lines = [
        line for label, runs in found for line in labelled([(label, LABEL)], runs, width, INDENT)
    ]
    return [*lines, Line()] if lines else []


def unready(answers: Sequence[HostReadiness]) -> str:
    """Return how many hosts are not ready, as shown before "Enter".

    Empty if all are, or none was asked.
    """
    bad = [each for each in answers if each.problems]
    held = sum(each.in_use for each in bad)
    if not bad:
        return ""
    if len(answers) == 1:
        return f"{bad[0].host} is {'in use by another run' if held else 'not ready'}"
    if held == len(bad):
        return f"{held} of {len(answers)} hosts in use by another run"
    return f"{len(bad)} of {len(answers)} hosts not ready" + (
        f", {held} in use by another run" if held else ""
    )


def refusal(answers: Sequence[HostReadiness]) -> str:
    """Return which hosts would refuse the run, empty if none."""
    bad = [each.host for each in answers if each.problems]
    return f"{some(bad)} would refuse this run: see the preflight" if bad else ""


class PlanPane(TextPane):
    """Shows the preflight answers and the plan, or the job file of each step."""

    class Answered(Message):
        """The hosts of the plan have answered."""

    def __init__(self, symbols: Symbols) -> None:
        super().__init__(id="review-plan")
        self.symbols = symbols
        self.plan: Plan | None = None
        self.facts: Mapping[str, Mapping[str, Fact]] = {}  # of the last check of each host
        self.shows_jobs = False
        self.preflight = Preflight()
        self.border_title = "Run plan"

    def on_mount(self) -> None:
        """Update the age of the preflight regularly."""
        self.set_interval(AGES_S, self.age_answers)

    @property
    def answers(self) -> Sequence[HostReadiness]:
        """The hosts' answers to this plan."""
        return self.preflight.answers if self.preflight.plan == self.plan else ()

    def show_plan(self, plan: Plan, checks: Mapping[str, HostCheck]) -> None:
        """Show a plan; `checks` are those of the Hosts screen."""
        self.plan = plan
        self.facts = {
            host.name: checks[host.name].facts for host in plan.hosts if host.name in checks
        }
        self.preflight.hold_for(plan)
        self.show_titles()
        self.show(partial(self.lines_of, plan))

    def show_problem(self, problem: str) -> None:
        """Say that the plan is out of date; a problem of several lines takes its place."""
        self.plan = None
        self.preflight.hold_for(None)
        entitle(self, subtitle="plan is out of date")
        if "\n" in problem:
            self.show(lambda width: indented([(problem, BAD)], width, 0))

    def show_titles(self) -> None:
        """Say what is shown, and what the key shows instead."""
        if self.shows_jobs:
            entitle(self, "Job files", "v plan")
        else:
            entitle(self, "Run plan", "v job file")

    def toggle_jobs(self) -> None:
        """Switch between plan and job files."""
        self.shows_jobs = not self.shows_jobs
        if self.plan is not None:
            self.show_titles()
            self.show(partial(self.lines_of, self.plan))
            self.scroll_home(animate=False)

    def lines_of(self, plan: Plan, width: int) -> list[Line]:
        """Return the job files, or the plan with its preflight, followed by the job files if they
        fit.
        """
        if self.shows_jobs:
            return review_plan.job_files(plan)
        facts = {each.host: each.facts for each in self.answers} or self.facts
        lines = [
            *(
                ahead_lines(self.answers, self.preflight.age_s, self.symbols, width)
                if self.answers
                else []
            ),
            *difference_lines(facts, width),
            *review_plan.plan_lines(plan, width),
        ]
        jobs = review_plan.job_files(plan, self.scrollable_content_region.height - len(lines) - 1)
        return [*lines, Line(), *jobs] if jobs else lines

    @work(group="preflight", exclusive=True)
    async def ask_hosts(self, plan: Plan, paths: Paths, person: Asker) -> None:
        """Run the preflight on the hosts, and count the answers as they arrive."""
        heard: list[str] = []

        def hear(name: str) -> None:
            heard.append(name)
            self.border_subtitle = f"preflight: {len(heard)} of {len(plan.hosts)} answered"

        self.border_subtitle = f"preflight: 0 of {len(plan.hosts)} answered"
        self.take_answers(plan, await ask_ahead(plan, paths, person, hear))

    def take_answers(self, plan: Plan, answers: Sequence[HostReadiness]) -> None:
        """Keep the answers, unless the plan changed meanwhile."""
        if plan == self.plan:
            self.preflight.take(plan, answers)
            self.shows_jobs = False
            self.scroll_home(animate=False)
            self.post_message(self.Answered())

    def age_answers(self) -> None:
        """Update the age of the answers."""
        if self.answers and self.plan is not None:
            self.show(partial(self.lines_of, self.plan))
