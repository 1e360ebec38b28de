"""The plan of Review and Job, with the answers of a preflight and how hosts differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import work
from textual.message import Message

from tui.app.screens import review_plan
from tui.app.screens.review_plan import INDENT
from tui.app.services.preflight import free_space, run_preflight
from tui.app.terminal.theme import Symbols
from tui.app.widgets.lines import TextPane, Unit, entitle
from tui.metrics import units
from tui.metrics.facts import compare
from tui.model.hostfacts import Fact
from tui.model.plain import some
from tui.text.facts import ROWS_FROM, difference_rows, difference_titles, machine_lines
from tui.text.line import (
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    TEXT,
    WARN,
    Line,
    Run,
    folded,
    heading,
    indented,
    labelled,
    whole_heads,
)
from tui.view.plan_layout import LayoutAhead, layout_bytes, with_rate

if TYPE_CHECKING:
    from tui.engine.preflight.host_check import HostCheck
    from tui.engine.preflight.preview import HostReadiness
    from tui.library.layout_rates import LayoutRate
    from tui.model.paths import Paths
    from tui.model.plan import Plan
    from tui.remote.vault import Asker


class Preflight:
    """The answers of the hosts to one plan. They are discarded when the plan changes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.plan: Plan | None = None
        self.answers: Sequence[HostReadiness] = ()
        self.asked_at = 0.0

    def take(self, plan: Plan, answers: Sequence[HostReadiness]) -> None:
        """Keep the hosts' answers to a plan."""
        self.plan, self.answers, self.asked_at = plan, answers, self.clock()

    def hold_for(self, plan: Plan | None) -> None:
        """Discard the answers unless they are for this plan."""
        if plan != self.plan:
            self.plan, self.answers = None, ()

    @property
    def age_s(self) -> float:
        """Seconds since the hosts answered."""
        return self.clock() - self.asked_at


AGES_S = 5.0  # rounding of displayed ages


def age_text(age_s: float) -> str:
    """Return the age of a preflight as text."""
    steps = int(age_s // AGES_S)
    return f"{units.span(steps * AGES_S)} ago" if steps else "just now"


def ahead_lines(
    answers: Sequence[HostReadiness], age_s: float, symbols: Symbols, width: int
) -> list[Line]:
    """Return the answers to the preflight and their age, refusals first.

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
    for text in dict.fromkeys(each.summary for each in answers if not each.problems):
        hosts = some(each.host for each in answers if each.summary == text and not each.problems)
        lines += indented([(f"{symbols.ok} ", GOOD), (hosts, TEXT), (f"  {text}", LABEL)], width)
    return [*lines, Line()]


def difference_lines(facts: Mapping[str, Mapping[str, Fact]], width: int) -> list[Line]:
    """Return which hosts share a machine or kernel, and how the checked hosts differ.

    Narrow panes have no room for the values.
    """
    together, narrow = compare(facts), width < ROWS_FROM
    found = [*machine_lines(facts), *(() if narrow else difference_rows(together, width, INDENT))]
    lines = [
        line
        for label, runs in found
        for line in labelled([(label, WARN if label == "differs" else LABEL)], runs, width, INDENT)
    ]
    if narrow and (odd := list(difference_titles(together))):
        lines.append(Line.of(("hosts differ", WARN), ("  (press 1 for the values)", LABEL)))
        for hosts, titles in odd:
            lines += labelled([(f"  {hosts}  ", BRIGHT)], [(titles, WARN)], width)
    return [*lines, Line()] if lines else []


RateKey = tuple[str | None, tuple[str, ...]]


def rate_key(plan: Plan) -> RateKey:
    """Return the key of a layout's rate: target and hosts."""
    return plan.target, tuple(host.name for host in plan.hosts)


class PlanPane(TextPane):
    """Shows the preflight answers and the plan, or the job file of each step."""

    class Answered(Message):
        """Sent when the hosts of the plan have answered."""

    def __init__(self, symbols: Symbols, move_field: Callable[[int], None]) -> None:
        super().__init__(id="review-plan")
        self.move_field = move_field  # moves the form's cursor by a number of fields
        self.fills = True  # with job files, if they fit
        self.symbols = symbols
        self.plan: Plan | None = None
        self.facts: Mapping[str, Mapping[str, Fact]] = {}  # of the last check of each host
        self.shows_jobs = False
        self.takes_keys = True  # False while a field has the focus
        self.preflight = Preflight()
        self.rates: dict[RateKey, LayoutRate | None] = {}  # of earlier layouts
        self.border_title = "Run plan"

    def action_move(self, unit: Unit, direction: int) -> None:
        """Scroll by half a page or to an end; keys for a single row move the form's cursor."""
        if unit == "row":
            self.move_field(direction)
        else:
            super().action_move(unit, direction)

    def on_mount(self) -> None:
        """Regularly show how old the preflight is."""
        self.set_interval(AGES_S, self.age_answers)

    @property
    def answers(self) -> Sequence[HostReadiness]:
        """The hosts' answers to this plan."""
        return self.preflight.answers if self.preflight.plan == self.plan else ()

    def needs_rate(self, plan: Plan) -> bool:
        """Return whether the rate of an earlier layout matters and has not been looked up."""
        return any(layout_bytes(plan).values()) and rate_key(plan) not in self.rates

    def take_rate(self, plan: Plan, rate: LayoutRate | None) -> None:
        """Keep the rate of an earlier layout at a plan's target; None means that there is none."""
        self.rates[rate_key(plan)] = rate

    @property
    def facts_known(self) -> Mapping[str, Mapping[str, Fact]]:
        """Facts by host: from the preflight or, before it, from the Hosts screen."""
        return {each.host: each.facts for each in self.answers} or self.facts

    def ahead_of(self, plan: Plan) -> LayoutAhead:
        """Return what is known of a plan's layout: missing bytes, free space, earlier rate."""
        missing = [each.missing_bytes for each in self.answers]
        known = [size for size in missing if size is not None]
        whole = sum(known) if missing and len(known) == len(missing) else None
        ahead = LayoutAhead(whole, *free_space(plan, self.facts_known))
        key = rate_key(plan)
        return with_rate(ahead, self.rates[key]) if key in self.rates else ahead

    def show_plan(self, plan: Plan, checks: Mapping[str, HostCheck]) -> None:
        """Show a plan.

        `checks`: results from the Hosts screen, by host.
        """
        self.plan = plan
        self.facts = {
            host.name: checks[host.name].facts for host in plan.hosts if host.name in checks
        }
        self.preflight.hold_for(plan)
        self.show_titles()
        self.show(partial(self.lines_of, plan))

    def show_problem(self, problem: str) -> None:
        """Say that the plan is out of date, or not made yet.

        A problem of several lines replaces the plan.
        """
        self.plan = None
        self.preflight.hold_for(None)
        self.show_old()
        if "\n" in problem:
            self.show(lambda width: indented([(problem, BAD)], width, 0))

    def show_old(self) -> None:
        """Show that the pane does not show the plan of the selection."""
        entitle(self, subtitle="plan is out of date" if self._built else "no plan yet")

    def show_titles(self) -> None:
        """Set the titles: the current view, and the view that the key switches to."""
        title, key = ("Job files", "v plan") if self.shows_jobs else ("Run plan", "v job file")
        entitle(self, title, key if self.takes_keys else "")

    def toggle_jobs(self) -> None:
        """Switch between plan and job files."""
        self.shows_jobs = not self.shows_jobs
        if self.plan is not None:
            self.show_titles()
            self.show(partial(self.lines_of, self.plan))
            self.scroll_home(animate=False)

    def lines_of(self, plan: Plan, width: int) -> list[Line]:
        """Return the plan with its preflight, or the job files.

        The job files follow the plan if they fit.
        """
        if self.shows_jobs:
            return [part for line in review_plan.job_files(plan) for part in folded(line, width)]
        room = self.scrollable_content_region.height
        lines = [
            *(
                ahead_lines(self.answers, self.preflight.age_s, self.symbols, width)
                if self.answers
                else []
            ),
            *difference_lines(self.facts_known, width),
            *review_plan.plan_lines(plan, width, self.ahead_of(plan)),
        ]
        jobs = review_plan.job_files(plan, room - len(lines) - 1)
        return [*lines, Line(), *jobs] if jobs else whole_heads(lines, room)

    @work(group="preflight", exclusive=True)
    async def ask_hosts(self, plan: Plan, paths: Paths, person: Asker) -> None:
        """Run the preflight on the hosts, counting answers as they arrive."""
        heard: list[str] = []

        def hear(name: str) -> None:
            heard.append(name)
            self.border_subtitle = f"preflight: {len(heard)} of {len(plan.hosts)} answered"

        self.border_subtitle = f"preflight: 0 of {len(plan.hosts)} answered"
        self.take_answers(plan, await run_preflight(plan, paths, person, hear))

    def take_answers(self, plan: Plan, answers: Sequence[HostReadiness]) -> None:
        """Keep the hosts' answers, unless the plan has changed meanwhile."""
        if plan == self.plan:
            self.preflight.take(plan, answers)
            self.shows_jobs = False
            self.scroll_home(animate=False)
            self.post_message(self.Answered())

    def age_answers(self) -> None:
        """Show how old the answers are."""
        if self.answers and self.plan is not None:
            self.show(partial(self.lines_of, self.plan))
