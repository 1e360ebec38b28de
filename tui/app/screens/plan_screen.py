"""The base of Review and Job: a form, its plan with the preflight, the key that starts it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tui.app.dialogs import text_entry
from tui.app.frame.step_screen import KeyBar, StepScreen
from tui.app.screens import review_form, review_plan
from tui.app.screens.review_plan import INDENT
from tui.app.services import launching
from tui.app.services.preflight import (
    AtLogout,
    missing_tools,
    needs_preview,
    preview_plan,
    run_preflight,
)
from tui.app.terminal import actions
from tui.app.terminal.theme import Symbols
from tui.app.widgets.form import ChoiceInput, Form, PlanForm
from tui.app.widgets.lines import TextPane, entitle, show_text
from tui.metrics import units
from tui.metrics.facts import compare
from tui.model.hostfacts import Fact
from tui.model.plain import some
from tui.model.problem import BenchtuiError
from tui.remote.vault import Remembering
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
    heading,
    indented,
    labelled,
)

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.engine.preflight.host_check import HostCheck
    from tui.engine.preflight.preview import HostReadiness, Preview
    from tui.model.paths import Paths
    from tui.model.plan import Plan
    from tui.remote.vault import Asker

Way = tuple[str, str, str]
"""A way to continue: its key, its label in the footer, and its description."""
READ_S = 0.5  # time a plan is on the screen before a key starts it
STARTS = next(action.keys for action in actions.REVIEW if action.id == "review.launch")
WAITS = "starting in a moment; any other key cancels"
EARLY = "plan just changed: press Enter again"


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
        """Discard the answers unless they are about this plan."""
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
        line for label, runs in found for line in labelled([(label, LABEL)], runs, width, INDENT)
    ]
    if narrow and (odd := list(difference_titles(together))):
        lines.append(Line.of(("hosts differ", WARN), ("  (1 Hosts shows the values)", LABEL)))
        for hosts, titles in odd:
            lines += indented([(hosts, BRIGHT), (f"  {titles}", WARN)], width)
    return [*lines, Line()] if lines else []


def unready(answers: Sequence[HostReadiness]) -> str:
    """Return how many hosts are not ready, for the line that says "Enter".

    Empty if all are ready, or none was asked.
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
    """Return which hosts would refuse the run; empty if none would."""
    bad = [each.host for each in answers if each.problems]
    return f"{some(bad)} would refuse this run: see the preflight" if bad else ""


class PlanPane(TextPane):
    """Shows the preflight answers and the plan, or the job file of each step."""

    class Answered(Message):
        """Sent when the hosts of the plan have answered."""

    def __init__(self, symbols: Symbols) -> None:
        super().__init__(id="review-plan")
        self.symbols = symbols
        self.plan: Plan | None = None
        self.facts: Mapping[str, Mapping[str, Fact]] = {}  # of the last check of each host
        self.shows_jobs = False
        self.preflight = Preflight()
        self.border_title = "Run plan"

    def on_mount(self) -> None:
        """Regularly show how old the preflight is."""
        self.set_interval(AGES_S, self.age_answers)

    @property
    def answers(self) -> Sequence[HostReadiness]:
        """The hosts' answers to this plan."""
        return self.preflight.answers if self.preflight.plan == self.plan else ()

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
        entitle(self, subtitle="plan is out of date" if self._built else "no plan yet")
        if "\n" in problem:
            self.show(lambda width: indented([(problem, BAD)], width, 0))

    def show_titles(self) -> None:
        """Show what the pane shows now, and what its key would show."""
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
        """Return the plan with its preflight, or the job files.

        The job files follow the plan if they fit.
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


class LaunchLine(Static):
    """Shows the key that starts the plan, once the plan has been visible long enough.

    A key pressed slightly early starts the plan at that time. A key held down, or pressed for the
    previous screen, does not.
    """

    class Seen(Message):
        """Sent when the plan has been visible for long enough.

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
        """Whether a key was pressed early and will start the plan.

        A second one means that the key is held down.
        """
        return self.early == 1 and not self.seen

    def hold(self) -> None:
        """Block the key until the new plan has been visible long enough."""
        self.seen = False
        self.call_after_refresh(self.wait_for_reader)

    def wait_for_reader(self) -> None:
        """Start the waiting time; an early key starts it again."""
        if self._seeing is not None:
            self._seeing.stop()
        self._seeing = self.set_timer(READ_S, self.plan_seen)

    def plan_seen(self) -> None:
        """Allow the key to start the plan."""
        starts, self.seen = self.waits, True
        self.post_message(self.Seen(starts))

    def note_early_key(self) -> None:
        """Remember that the key was pressed too early, and start the waiting time again."""
        self.early += 1
        show_text(self, self.launch_text())
        self.wait_for_reader()

    def forget_early_key(self) -> None:
        """Forget an early key, because another key was pressed."""
        if self.waits:
            self.early = 0
            show_text(self, self.launch_text())

    def show_launch(self, plan_text: str, *, typing: bool, unready: str) -> None:
        """Show the key that starts this plan."""
        self.plan_text, self.typing, self.unready = plan_text, typing, unready
        show_text(self, self.launch_text())

    def launch_text(self) -> Content:
        """Return the text about the key that starts the plan."""
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


class PlanScreen(StepScreen):
    """The base of screens with a form and its plan.

    Derive, fill the form, keep its input, and build the plan from it.
    """

    CSS_PATH = "review.tcss"
    UNCHANGED: ClassVar[str] = ""  # the form's subtitle while nothing is changed

    def __init__(self) -> None:
        super().__init__()
        self.loaded: LoadedProfile | None = None
        self.plan: Plan | None = None
        self.problem: str | None = None
        self.starting = False
        self.at_logout = AtLogout()
        self.ways: list[Way] = []  # what to do without hosts or profile
        self.form: Form
        self.plan_pane: PlanPane
        self.launch_line: LaunchLine

    def compose_body(self) -> Iterable[Widget]:
        """Yield form and plan side by side, then the warnings and the launch line."""
        symbols = self.shell.symbols
        cut = "~" if symbols.name == "ascii" else "…"
        self.form = PlanForm(self.check_field, symbols.bad, cut, self.UNCHANGED, id="review-form")
        self.form.add_class("pane", update=False)
        self.form.border_title = "Parameters"
        self.plan_pane, self.launch_line = PlanPane(symbols), LaunchLine()
        yield Horizontal(self.form, self.plan_pane, id="review-body")
        yield Static(id="review-warnings", markup=False)
        yield self.launch_line

    # -- what each screen defines

    def check_field(self, name: str, text: str) -> str | None:
        """Return what is wrong with one field, None if valid."""
        raise NotImplementedError

    async def keep_typed(self) -> None:
        """Keep the input of the form."""
        raise NotImplementedError

    def build_plan(self) -> Plan:
        """Return the plan for selection and input. Raises BenchtuiError."""
        raise NotImplementedError

    # -- from the form to the plan

    @on(Form.Edited)
    async def form_edited(self) -> None:
        """Keep the input, and build the plan again."""
        await self.keep_typed()
        self.replan()

    def replan(self) -> None:
        """Build the plan and show it."""
        self.plan, self.problem = None, None
        self.form.show_problem("")
        if self.form.errors:
            wrong = [field.label for field in self.form.fields if field.error]
            self.show_problem(f"{', '.join(wrong)}: invalid, see the form")
            return
        try:
            self.plan = self.build_plan()
        except BenchtuiError as error:
            self.form.show_problem(str(error).splitlines()[0])
            self.show_problem(str(error))
            return
        self.show_plan()

    @on(PlanPane.Answered)
    def show_plan(self) -> None:
        """Show the plan, its warnings and the launch line."""
        if (plan := self.plan) is None:
            return
        selection = self.shell.selection
        self.plan_pane.show_plan(plan, selection.checks)
        refused = refusal(self.plan_pane.answers)
        self.show_warnings(
            [
                *([refused] if refused else []),
                *selection.caveats,
                *review_plan.warnings(plan),
                *missing_tools(plan, selection.checks),
                *self.at_logout.lines,
            ]
        )
        self.warn_of_logout(plan)
        self.show_launch()

    @work(group="at-logout", exclusive=True)
    async def warn_of_logout(self, plan: Plan) -> None:
        """Add warnings about the effects of a logout, once they are known."""
        if await self.at_logout.update(plan.hosts, self.shell.paths):
            self.replan()

    def show_problem(self, problem: str) -> None:
        """Show why the plan cannot be started."""
        self.problem = problem
        self.show_warnings([])
        self.plan_pane.show_problem(problem)
        self.show_launch()
        text = f"{self.shell.symbols.bad} cannot start: {problem.splitlines()[0]}"
        show_text(self.launch_line, Content.styled(text, "$bad"))

    def show_warnings(self, warnings: list[str]) -> None:
        """Show the warnings, if any."""
        strip = self.query_one("#review-warnings", Static)
        show_text(
            strip, Content("\n".join(f"{self.shell.symbols.warn} {text}" for text in warnings))
        )
        strip.set_class(bool(warnings), "-shown")

    # -- keys

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def show_keys(self) -> None:
        """Show the keys of the field that has the focus.

        If hosts or profile are missing, show the keys that lead to them.
        """
        typing = self.form.has_focus_within
        keys = (
            review_form.CHOICE_KEYS
            if isinstance(self.focused, ChoiceInput)
            else review_form.FORM_KEYS
        )
        lead_on = (*((key, name) for key, name, _ in self.ways), *review_form.ANYWHERE)
        without_field = () if self.shell.selection.ready else lead_on
        self.query_one(KeyBar).show_hint(*(keys if typing else without_field))
        entitle(self.form, "Parameters: editing" if typing else "Parameters")
        self.show_launch()

    def action_edit(self) -> None:
        """Move the focus to the form."""
        self.form.focus_first()
        self.show_keys()

    @on(Form.Done)
    def leave_form(self) -> None:
        """Move the focus to the plan, where Enter starts it."""
        self.set_focus(self.plan_pane)

    def action_back(self) -> None:
        """Leave the form or, outside of it, the screen."""
        if self.form.has_focus_within:
            self.leave_form()
        else:
            super().action_back()

    def action_view(self) -> None:
        """Switch between plan and job files."""
        self.plan_pane.toggle_jobs()

    def action_preflight(self) -> None:
        """Run the preflight on the hosts."""
        if self.plan is None:
            self.notify(self.problem or "nothing to run yet", severity="error")
        elif not self.starting:
            self.plan_pane.ask_hosts(
                self.plan, self.shell.paths, Remembering(partial(text_entry.ask, self.app))
            )

    # -- starting

    def show_launch(self) -> None:
        """Show the key that starts the plan; in a field, Enter only ends typing."""
        starts = self.launch_line.seen and self.plan is not None
        self.query_one(KeyBar).leave_out(*(() if starts else (f"{self.SCOPE}.launch",)))
        if self.plan is not None:
            self.launch_line.show_launch(
                review_plan.launch_line(self.plan),
                typing=self.form.has_focus_within,
                unready=unready(self.plan_pane.answers),
            )

    @on(LaunchLine.Seen)
    def plan_seen(self, event: LaunchLine.Seen) -> None:
        """Show the key that starts the plan, and start it if the key was pressed early."""
        self.show_launch()
        if (
            event.starts
            and self.plan is not None
            and self.is_current
            and not self.form.has_focus_within
        ):
            self.action_launch()

    def on_key(self, event: events.Key) -> None:
        """Cancel an early key if another key is pressed."""
        if event.key not in STARTS:
            self.launch_line.forget_early_key()

    def on_screen_suspend(self) -> None:
        """Forget an early key."""
        self.launch_line.early = 0

    def action_launch(self) -> None:
        """Start the plan; first ask to type the names of everything it overwrites."""
        if self.starting:
            return  # already starting
        if not self.launch_line.seen and self.problem is None and self.shell.selection.ready:
            self.launch_line.note_early_key()
        elif self.plan is None:
            self.notify(self.problem or "nothing to run yet", severity="error")
            self.form.focus_first()
        else:
            self.starting = True
            self.launch(self.plan)

    @work(group="launch")
    async def launch(self, plan: Plan) -> None:
        """Start the engine on a plan, and show the run.

        First examines the hosts, if data could be lost or steps skipped, and asks.
        """
        person = Remembering(partial(text_entry.ask, self.app))
        found: Preview | None = None
        fit = plan
        if needs_preview(plan):
            self.launch_line.update(Content.styled("checking the hosts", "$dim"))
            found, fit = await preview_plan(plan, self.shell.paths, person)
        self.starting = False
        if self.app.screen is not self or self.plan != plan:
            self.replan()
            self.notify("not started: the selection has changed", severity="warning")
            return
        if found is not None:
            self.show_plan()
        if fit is not plan and not await launching.agree_to_leave_out(self.app, fit):
            return
        if (agreed := await launching.agree_to_overwrite(self.app, fit, found)) is None:
            return
        self.starting = True
        try:
            await launching.start_engine(self.shell, agreed, person)
        except BenchtuiError as error:
            self.notify(str(error), severity="error")
        finally:
            self.starting = False
