"""The base of Review and Job: a form, its plan, and the key that starts the plan."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.app.dialogs import text_entry
from tui.app.frame.step_screen import KeyBar, StepScreen
from tui.app.screens import review_form, review_plan
from tui.app.screens.review_launch import STARTS, LaunchLine
from tui.app.screens.review_preflight import PlanPane, refusal, unready
from tui.app.services import launching
from tui.app.services.preflight import AtLogout, look, missing_tools, needs_look
from tui.app.widgets.field import ChoiceInput
from tui.app.widgets.form import Form
from tui.app.widgets.lines import entitle, show_text
from tui.model.problem import BenchtuiError
from tui.remote.vault import Remembering

if TYPE_CHECKING:
    from tui.app.screens.review_missing import Way
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.engine.preflight.preview import Preview
    from tui.model.plan import Plan


class PlanScreen(StepScreen):
    """Derive, fill the form, keep its input, and build the plan from it."""

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
        """Form and plan side by side, then warnings and the launch line."""
        symbols = self.shell.symbols
        cut = "~" if symbols.name == "ascii" else "…"
        self.form = Form(self.check_field, symbols.bad, cut, self.UNCHANGED, id="review-form")
        self.form.add_class("pane", update=False)
        self.form.border_title = "Parameters"
        self.plan_pane, self.launch_line = PlanPane(symbols), LaunchLine()
        yield Horizontal(self.form, self.plan_pane, id="review-body")
        yield Static(id="review-warnings", markup=False)
        yield self.launch_line

    # -- what each screen defines

    def check_field(self, name: str, text: str) -> str | None:
        """Return what is wrong with a field's text."""
        raise NotImplementedError

    async def keep_typed(self) -> None:
        """Keep the form's input."""
        raise NotImplementedError

    def build_plan(self) -> Plan:
        """Build the plan from selection and input. Raises BenchtuiError."""
        raise NotImplementedError

    # -- from the form to the plan

    @on(Form.Edited)
    async def form_edited(self) -> None:
        """Keep the input and build the plan again."""
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
                *selection.remarks,
                *review_plan.warnings(plan),
                *missing_tools(plan, selection.checks),
                *self.at_logout.lines,
            ]
        )
        self.look_at_logout(plan)
        self.show_launch()

    @work(group="at-logout", exclusive=True)
    async def look_at_logout(self, plan: Plan) -> None:
        """Add warnings about a logout, once known."""
        if await self.at_logout.look(plan.hosts, self.shell.paths):
            self.replan()

    def show_problem(self, problem: str) -> None:
        """Show why the plan cannot start."""
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
        """Show the keys of the focused field.

        Without a selection, the keys that lead to one.
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
        """Go into the form."""
        self.form.focus_first()
        self.show_keys()

    @on(Form.Done)
    def leave_form(self) -> None:
        """Go back to the plan, where Enter starts."""
        self.set_focus(self.plan_pane)

    def action_back(self) -> None:
        """Leave the form first."""
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
        """Show which key starts the plan; in a field Enter ends typing."""
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
        """Show which key starts the plan, and obey a key pressed shortly before."""
        self.show_launch()
        if (
            event.starts
            and self.plan is not None
            and self.is_current
            and not self.form.has_focus_within
        ):
            self.action_launch()

    def on_key(self, event: events.Key) -> None:
        """Cancel an early key when another one is pressed."""
        if event.key not in STARTS:
            self.launch_line.take_back()

    def on_screen_suspend(self) -> None:
        """Forget early keys."""
        self.launch_line.early = 0

    def action_launch(self) -> None:
        """Start the plan shown, after confirming what it overwrites by typing names."""
        if self.starting:
            return  # already starting
        if not self.launch_line.seen and self.problem is None and self.shell.selection.ready:
            self.launch_line.come_early()
        elif self.plan is None:
            self.notify(self.problem or "nothing to run yet", severity="error")
            self.form.focus_first()
        else:
            self.starting = True
            self.launch(self.plan)

    @work(group="launch")
    async def launch(self, plan: Plan) -> None:
        """Examine the hosts if data could be lost or parts skipped, ask, then start the engine and
        show the run.
        """
        person = Remembering(partial(text_entry.ask, self.app))
        found: Preview | None = None
        fit = plan
        if needs_look(plan):
            self.launch_line.update(Content.styled("checking the hosts", "$dim"))
            found, fit = await look(plan, self.shell.paths, person)
        self.starting = False
        if self.app.screen is not self or self.plan != plan:
            self.replan()
            self.notify("not started: the selection changed meanwhile", severity="warning")
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
