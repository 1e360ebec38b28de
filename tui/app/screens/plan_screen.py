"""The base of Review and Job: a form, its plan with the preflight, the key that starts it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

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
from tui.app.screens.plan_pane import PlanPane
from tui.app.services import launching
from tui.app.services.preflight import (
    AtLogout,
    missing_tools,
    needs_preview,
    preview_plan,
)
from tui.app.terminal import actions
from tui.app.widgets.form import ChoiceInput, Form, PlanForm
from tui.app.widgets.lines import entitle, show_text
from tui.model.plain import some
from tui.model.problem import BenchtuiError
from tui.remote.vault import Remembering
from tui.text.save_texts import NAME_HELP, NOTHING_TO_SAVE, SAVE_AS
from tui.view.plan_layout import layout_bytes, space_text

if TYPE_CHECKING:
    from tui.app.frame.shell import AppShell
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.engine.preflight.preview import HostReadiness, Preview
    from tui.model.plan import Plan

Way = tuple[str, str, str]
"""A way to continue: its key, its label in the footer, and its description."""
READ_S = 0.5  # time a plan is on the screen before a key starts it
STARTS = next(action.keys for action in actions.REVIEW if action.id == "review.launch")
WAITS = "starting in a moment; any other key cancels"
PLANNING, PLANNING_GROUP = "planning ...", "planning"
SLOW_S = 0.15  # if a plan took longer, the next one is built in a thread during typing
TYPING_S = 0.3  # pause in the typing before that
DEFAULTS = "defaults; d brings your values back"
EARLY = "plan just changed: press Enter again"
CHECKS_AGAIN = "checks again and starts"


def unready(answers: Sequence[HostReadiness]) -> str:
    """Return how many hosts are not ready, for the launch line.

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
    """Return which hosts refuse the run; empty if none does."""
    bad = [each.host for each in answers if each.problems]
    verb = "refuses" if len(bad) == 1 else "refuse"
    return f"{some(bad)} {verb} this run: see the preflight" if bad else ""


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
        self.unready = ""  # which hosts refuse the plan
        self.awaits = False  # the plan is still being made
        self._seeing: Timer | None = None

    @property
    def waits(self) -> bool:
        """Whether a key was pressed early and will start the plan.

        A second one means that the key is held down.
        """
        return self.early == 1 and not self.seen

    def await_plan(self) -> None:
        """Block the key until there is a new plan; a key pressed meanwhile starts the new plan."""
        self.seen, self.awaits = False, True
        if self._seeing is not None:
            self._seeing.stop()
        show_text(self, self.launch_text())

    def hold(self) -> None:
        """Block the key until the new plan has been visible long enough."""
        self.seen = self.awaits = False
        self.call_after_refresh(self.wait_for_reader)

    def wait_for_reader(self) -> None:
        """Start the waiting time; an early key restarts it."""
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
        if not self.awaits:
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
            if self.awaits and not self.early:
                return Content.styled(PLANNING, "$dim")
            return (
                Content.styled(WAITS if self.waits else EARLY, "$warn") if self.early else Content()
            )
        if self.typing:
            return Content.styled(self.plan_text, "$foreground")
        key = ("Enter ", "bold $accent")
        if self.unready:
            return Content.assemble(
                (f"{self.unready}; ", "$warn"), key, (CHECKS_AGAIN, "$warn")
            )
        if self.early:
            key_again = ("press ", "$warn"), key, ("again: ", "$warn")
            return Content.assemble(*key_again, (self.plan_text, "bold $bright"))
        return Content.assemble(key, (self.plan_text, "bold $bright"))


class PlanBuilder:
    """Builds plans, and records whether the last one took long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.is_slow = False

    def plan_of(self, loaded: LoadedProfile, shell: AppShell) -> Plan:
        """Return the plan of a profile for the selection. Raises BenchtuiError."""
        began = self._clock()
        try:
            plan = review_form.plan_of(loaded, shell)
            layout_bytes(plan)  # added up once, here rather than for the screen
            return plan
        finally:
            self.is_slow = self._clock() - began > SLOW_S


class PlanScreen(StepScreen):
    """The base of screens with a form and its plan.

    Derive, fill the form, keep its input, and build the plan from it.
    """

    CSS_PATH = "review.tcss"
    # the form's subtitle while nothing is changed, and after the number of changed fields
    UNCHANGED: ClassVar[str] = ""
    CHANGED: ClassVar[str] = "changed"

    def __init__(self) -> None:
        super().__init__()
        self.loaded: LoadedProfile | None = None
        self.plan: Plan | None = None
        self.planning = PlanBuilder()
        self.problem: str | None = None
        self.starting = False
        self.arrives = True  # from another screen, not from a dialog above this one
        self.at_logout = AtLogout()
        self.ways: list[Way] = []  # what to do without hosts or profile
        self.form: PlanForm
        self.plan_pane: PlanPane
        self.launch_line: LaunchLine

    def compose_body(self) -> Iterable[Widget]:
        """Yield form and plan side by side, then the warnings and the launch line."""
        symbols = self.shell.symbols
        cut = "~" if symbols.name == "ascii" else "…"
        self.form = PlanForm(self.check_field, symbols.bad, cut, self.UNCHANGED, id="review-form")
        self.form.changed_from = self.CHANGED
        self.form.add_class("pane", update=False)
        self.form.border_title = "Parameters"
        self.plan_pane, self.launch_line = PlanPane(symbols, self.form.move_cursor), LaunchLine()
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

    def take_input(self) -> LoadedProfile:
        """Put the input into the selection and return the profile to plan. Raises BenchtuiError."""
        raise NotImplementedError

    # -- from the form to the plan

    @on(Form.Edited)
    async def form_edited(self) -> None:
        """Keep the input, and build the plan again."""
        await self.keep_typed()
        self.replan(typing=True)

    def replan(self, *, typing: bool = False) -> None:
        """Build the plan and show it.

        `typing`: a field was edited; if the last plan took long, build this one in a thread.
        """
        self.plan, self.problem = None, None
        self.workers.cancel_group(self, PLANNING_GROUP)
        self.form.show_problem("")
        if self.form.errors:
            wrong = [field.label for field in self.form.fields if field.error]
            self.show_problem(f"{', '.join(wrong)}: invalid, see the form")
            return
        try:
            loaded = self.take_input()
            if typing and self.planning.is_slow:
                await_plan(self)
                self.run_worker(replan_aside(self, loaded), group=PLANNING_GROUP, exclusive=True)
                return
            self.plan = self.planning.plan_of(loaded, self.shell)
        except BenchtuiError as error:
            self.show_problem(str(error), in_form=True)
            return
        self.show_plan()

    @on(PlanPane.Answered)
    def show_plan(self) -> None:
        """Show the plan, its warnings and the launch line."""
        if (plan := self.plan) is None:
            return
        if self.launch_line.awaits:
            self.launch_line.hold()
        selection = self.shell.selection
        self.plan_pane.show_plan(plan, selection.checks)
        refused = refusal(self.plan_pane.answers)
        self.show_warnings(
            [
                *([refused] if refused else []),
                *selection.caveats,
                *filter(None, [space_text(plan, self.plan_pane.ahead_of(plan))]),
                *review_plan.warnings(plan),
                *missing_tools(plan, selection.checks),
                *self.at_logout.lines,
            ]
        )
        self.warn_of_logout(plan)
        self.show_launch()
        if self.plan_pane.needs_rate(plan):
            self.find_rate(plan)

    @work(group="layout-rate", exclusive=True)
    async def find_rate(self, plan: Plan) -> None:
        """Find the rate of an earlier layout by these hosts at this target, and show it."""
        from tui.library.layout_rates import last_layout_rate

        rate = await asyncio.to_thread(last_layout_rate, self.shell.store, plan)
        self.plan_pane.take_rate(plan, rate)
        if self.plan is not None and not self.plan_pane.needs_rate(self.plan):
            self.show_plan()

    @work(group="at-logout", exclusive=True)
    async def warn_of_logout(self, plan: Plan) -> None:
        """Add warnings about the effects of a logout, once they are known."""
        if await self.at_logout.update(plan.hosts, self.shell.paths):
            self.replan()

    def show_problem(self, problem: str, *, in_form: bool = False) -> None:
        """Show why the plan cannot be started."""
        if in_form:
            self.form.show_problem(problem.splitlines()[0])
        self.problem, self.launch_line.early = problem, 0
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
        changed = self.plan_pane.takes_keys == typing
        self.plan_pane.takes_keys = not typing
        if changed and self.plan is not None:
            self.plan_pane.show_titles()
        self.show_launch()

    def action_edit(self) -> None:
        """Move the focus to the field under the form's cursor."""
        self.form.focus_at_cursor()
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
        self.form.show_cursor(visible=not self.form.has_focus_within)
        starts = self.launch_line.seen and self.plan is not None
        self.query_one(KeyBar).leave_out(*(() if starts else (f"{self.SCOPE}.launch",)))
        if self.plan is not None:
            self.launch_line.show_launch(
                review_plan.launch_line(self.plan, self.plan_pane.ahead_of(self.plan)),
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

    def note_start(self) -> None:
        """Record that the plan was started."""

    def on_screen_suspend(self) -> None:
        """Forget an early key, and note whether the screen was left."""
        self.launch_line.early = 0
        self.arrives = self not in self.app.screen_stack
        if self.arrives:
            await_plan(self)  # it is on the screen again before the next plan

    def action_launch(self) -> None:
        """Start the plan; first ask the user to type the name of everything it overwrites."""
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

        If data could be lost, or steps could be skipped, examine the hosts first, and ask.
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
            self.note_start()
        except BenchtuiError as error:
            self.notify(str(error), severity="error")
        finally:
            self.starting = False


def ask_for_name(
    screen: PlanScreen, save: Callable[[str | None], Coroutine[Any, Any, None]]
) -> None:
    """Ask for a name to save a profile under, and pass it to `save`."""
    from tui.engine.inputs.profile_files import free_tag

    if screen.plan is None or screen.loaded is None:
        screen.notify(screen.problem or NOTHING_TO_SAVE, severity="error")
        return
    _, _, own = screen.loaded.profile.profile.partition("/")
    name = free_tag(screen.shell.catalogue, f"my/{own}")
    dialog = text_entry.LineDialog(SAVE_AS, NAME_HELP, name, "save")
    screen.app.push_screen(dialog.accepting(save))


def await_plan(screen: PlanScreen) -> None:
    """Say that the plan on the screen is outdated; the start key waits for the next plan."""
    screen.plan, screen.problem = None, None
    screen.launch_line.await_plan()
    screen.plan_pane.show_old()


async def replan_aside(screen: PlanScreen, loaded: LoadedProfile) -> None:
    """Build a plan in a thread once typing pauses, so that no key waits for it, and show it."""
    await asyncio.sleep(TYPING_S)
    try:
        plan = await asyncio.to_thread(screen.planning.plan_of, loaded, screen.shell)
    except BenchtuiError as error:
        screen.show_problem(str(error), in_form=True)
        return
    screen.plan, screen.problem = plan, None
    screen.show_plan()
