"""Step 3: see exactly what will happen, change parameters, start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.containers import Center, Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.app.dialogs import text_entry
from tui.app.dialogs.confirm import Confirm, OverwriteDialog
from tui.app.frame.step_screen import KeyBar
from tui.app.screens import review_form, review_launch, review_plan
from tui.app.screens.review_form import (
    SEARCH,
    check_field,
    fields_words,
    form_of,
)
from tui.app.screens.review_launch import (
    GuardedScreen,
    Launch,
    Preflight,
)
from tui.app.services.preflight import AtLogout, ask_ahead, look
from tui.app.widgets.field import ChoiceInput
from tui.app.widgets.form import Form
from tui.app.widgets.lines import TextPane
from tui.model.hostspec import LOCAL
from tui.model.problem import BenchtuiError, UsageError
from tui.remote.vault import Remembering
from tui.text.line import BAD, Line, indented

if TYPE_CHECKING:
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.engine.preflight.preview import HostReadiness
    from tui.model.hostfacts import Fact
    from tui.model.plan import Plan
    from tui.remote.vault import Asker


class ReviewScreen(GuardedScreen):
    """Parameters at the left, what they lead to at the right."""

    SCOPE = "review"
    CSS_PATH = "review.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.loaded: LoadedProfile | None = None
        self.plan: Plan | None = None
        self.problem: str | None = None
        self.shows_jobs = False
        self.starting = False
        self.preflight = Preflight()
        self.at_logout = AtLogout()
        self.person: Asker | None = None  # who is asked while a launch is prepared
        self._made_for: object = None
        self.ways: list[review_launch.Way] = []  # how to go on without hosts or profile

    def compose_body(self) -> Iterable[Widget]:
        """Form and plan side by side, then warnings and the line that says what Enter does."""
        cut = "~" if self.shell.symbols.name == "ascii" else "…"
        form = Form(self.check_field, self.shell.symbols.bad, cut, id="review-form")
        form.add_class("pane", update=False)
        form.border_title = "Parameters"
        plan = TextPane(id="review-plan")
        plan.border_title = "What will happen"
        yield Horizontal(form, plan, id="review-body")
        yield Static(id="review-warnings", markup=False)
        yield Static(id="review-launch")
        yield Center(Static(id="review-missing"), id="review-empty")

    def on_mount(self) -> None:
        """Tell from time to time how old a preflight is."""
        self.set_interval(review_launch.AGES_S, self.age_answers)

    @property
    def form(self) -> Form:
        """The parameters."""
        return self.query_one(Form)

    @property
    def plan_pane(self) -> TextPane:
        """What scrolls at the right."""
        return self.query_one(TextPane)

    @property
    def back(self) -> str:
        """The screen that Escape leads to: of a run that is made again where that was asked for."""
        return self.shell.again_from or super().back

    # -- bringing form and plan up to date

    async def on_screen_resume(self, event: events.ScreenResume) -> None:  # noqa: ARG002
        """Hosts or profile may be others than last time."""
        await self.show_choice()

    async def show_choice(self) -> None:
        """Show form and plan of what is chosen, or what is missing."""
        selection = self.shell.selection
        self.set_class(not selection.ready, "-empty")
        self.plan, self.problem = None, None
        if not selection.ready:
            await self.show_missing()
            self.show_keys()
            return
        try:
            self.loaded = self.shell.catalogue.load(selection.profile or "")
        except BenchtuiError as error:
            self.loaded = None
            self.show_problem(str(error))
            self.show_keys()
            return
        made_for = (self.loaded.sha256, selection.changes, len(selection.ticked))
        if self._made_for != made_for:
            self._made_for = made_for
            await self.fill_form()
        self.hold_launch()
        self.replan()
        if not isinstance(self.focused, Widget):
            self.set_focus(self.plan_pane)
        self.show_keys()

    @property
    def can_launch(self) -> bool:
        """Whether a key that came early may start the plan now."""
        return self.plan is not None and self.is_current and not self.in_form

    async def fill_form(self) -> None:
        """Make the fields of the profile's parameters and of the run's own choices."""
        if self.loaded is not None:
            await self.form.set_fields(form_of(self.loaded, self.shell.selection))

    def check_field(self, name: str, text: str) -> str | None:
        """Return what is wrong with a field's text."""
        return check_field(self.loaded.profile, name, text) if self.loaded else None

    async def show_missing(self) -> None:
        """Say which step comes first, and what can be done without it."""
        self.ways = await asyncio.to_thread(review_launch.missing_keys, self.shell)  # it reads runs
        self.query_one("#review-missing", Static).update(review_launch.missing_content(self.ways))

    async def action_local(self) -> None:
        """Run on this machine where no host was chosen."""
        await self.take_hosts([LOCAL])

    async def action_last_hosts(self) -> None:
        """Run on the hosts of the last run where none was chosen."""
        await self.take_hosts(await asyncio.to_thread(review_launch.last_hosts, self.shell))

    async def take_hosts(self, names: list[str]) -> None:
        """Let these hosts generate load, unless some are chosen."""
        selection = self.shell.selection
        if selection.ticked:
            self.notify(f"runs on {selection.hosts_text()}: 1 chooses others")
            return
        if not names:
            self.notify("no run was made whose hosts are all known", severity="warning")
        for name in names:
            selection.put(name, server=False)
        self.refresh_chrome()
        await self.show_choice()

    @on(Form.Edited)
    async def form_edited(self) -> None:
        """Keep what was typed and plan again; another kind of search has other fields."""
        selection, values = self.shell.selection, self.form.values
        defaults = {field.spec.name: field.spec.default for field in self.form.fields}
        kind = (selection.search and selection.search.kind) or defaults.get(SEARCH)
        review_form.keep_typed(selection, values, defaults, right=not self.form.errors)
        if SEARCH in values and not self.form.errors and values[SEARCH] != kind:
            selection.repeat = selection.sweep = ""  # a search decides both
            stays = self.in_form
            await self.fill_form()
            if stays:
                self.form.focus_on(SEARCH, typing=True)
        self.replan()

    def replan(self) -> None:
        """Build the plan from what is chosen now and show it."""
        self.plan, self.problem = None, None
        self.dim_unused()
        self.form.show_problem("")
        if self.form.errors:
            self.preflight.hold_for(None)
            wrong = [field.label for field in self.form.fields if field.error]
            self.show_problem(f"{', '.join(wrong)}: not right yet, see the form")
            return
        try:
            self.plan = self.build_plan()
        except BenchtuiError as error:
            self.preflight.hold_for(None)
            self.form.show_problem(str(error).splitlines()[0])
            self.show_problem(str(error))
            return
        self.preflight.hold_for(self.plan)
        self.show_plan(self.plan)

    def dim_unused(self) -> None:
        """Show a parameter as not used while the sweep takes its place, or a search says itself how long it goes on."""
        with suppress(ValueError):
            unused = set(review_form.sweep_values(self.shell.selection.sweep))
            if self.loaded is not None:
                unused |= review_form.set_aside(self.loaded.profile, self.form.values.get(SEARCH, ""))
            for field in self.form.fields:
                field.set_class(field.spec.name in unused, "-swept")

    def build_plan(self) -> Plan:
        """Return the plan of what is chosen. Raises UsageError."""
        from tui.engine.plan.plan import Choices, build_plan
        from tui.engine.plan.search import SearchChoice

        selection = self.shell.selection
        if self.loaded is None:
            raise UsageError("no profile chosen")
        fleet = self.shell.fleet
        hosts, servers = fleet.resolve(selection.ticked), fleet.resolve(selection.servers)
        choices = Choices(
            hosts=hosts,
            overrides=selection.overrides,
            repeat=int(selection.repeat) if selection.repeat else None,
            sweep=review_form.sweep_values(selection.sweep),
            note=selection.note or None,
            tags=dict(self.shell.options.settings.tags),
            lease_s=self.shell.options.settings.lease_s,
            cleanup=selection.cleanup,
            precondition=selection.precondition,
            attest=selection.attest,
            servers=servers,
            sources=fleet.uses_of([*hosts, *servers]),
            search=selection.search or SearchChoice(),
            words=fields_words(),
        )
        return build_plan(self.loaded, choices)

    # -- showing

    def show_plan(self, plan: Plan) -> None:
        """Show plan or job files, the warnings, and what Enter does."""
        self.plan_pane.show(partial(self.plan_lines, plan))
        self.plan_pane.border_title = "Job files" if self.shows_jobs else "What will happen"
        self.plan_pane.border_subtitle = "v plan" if self.shows_jobs else "v job file"
        said = [
            *filter(None, [review_launch.refusal(self.answers)]),
            *self.shell.selection.remarks,
            *review_plan.warnings(plan),
        ]
        self.show_warnings([*said, *self.missing_tools(plan), *self.at_logout.lines])
        self.look_at_logout(plan)
        self.show_launch()
        self.show_changes()

    def plan_lines(self, plan: Plan, width: int) -> list[Line]:
        """Return the job files, or the plan behind what its hosts answered, with the job files where these fit too."""
        if self.shows_jobs:
            return review_plan.job_files(plan)
        age_s = self.preflight.age_s
        answered = review_launch.ahead_lines(self.answers, age_s, self.shell.symbols, width) if self.answers else []
        lines = [
            *answered,
            *review_launch.difference_lines(self.facts_of(plan), width),
            *review_plan.plan_lines(plan, width),
        ]
        room = self.plan_pane.scrollable_content_region.height - len(lines) - 1
        jobs = review_plan.job_files(plan, room)
        return [*lines, Line(), *jobs] if jobs else lines  # where there is room, all is seen at once

    def facts_of(self, plan: Plan) -> dict[str, dict[str, Fact]]:
        """Return what is known of the plan's hosts: by their answers, else by the checks of the Hosts screen."""
        checks = self.shell.selection.checks
        checked = {host.name: checks[host.name].facts for host in plan.hosts if host.name in checks}
        return {each.host: each.facts for each in self.answers} or checked

    @property
    def answers(self) -> Sequence[HostReadiness]:
        """What the hosts said of this very plan."""
        return self.preflight.answers if self.preflight.plan == self.plan else ()

    def age_answers(self) -> None:
        """Tell how old the answers of the hosts are by now."""
        if self.is_current and self.answers and self.plan is not None:
            self.plan_pane.show(partial(self.plan_lines, self.plan))

    def missing_tools(self, plan: Plan) -> list[str]:
        """Return what checked hosts lack for some of the steps: the launch offers to leave these out."""
        from tui.engine.preflight.missing_tools import has_several_tools, lacking_by_checks, without

        if not (self.shell.selection.checks and has_several_tools(plan)):
            return []
        fit = without(plan, lacking_by_checks(plan, self.shell.selection.checks))
        return [f"{left.text()}; the launch offers to leave this out" for left in fit.left_out]

    @work(group="at-logout", exclusive=True)
    async def look_at_logout(self, plan: Plan) -> None:
        """Add what a logout would take away, once that is known."""
        if await self.at_logout.look(plan.hosts, self.shell.paths):
            self.replan()

    def show_launch(self) -> None:
        """Say which key starts the plan, once it does; in a field Enter ends the typing."""
        if not self.query(Form):
            return  # where the app ends, widgets go before timers do
        starts = self.guard.seen and self.plan is not None
        self.query_one(KeyBar).leave_out(*(() if starts else (f"{self.SCOPE}.launch",)))
        if self.plan is None:
            return
        said = review_plan.launch_line(self.plan)
        early, waits = bool(self.guard.early), self.guard.waits
        launch = Launch(said, self.guard.seen, early, waits, self.in_form, review_launch.unready(self.answers))
        self.query_one("#review-launch", Static).update(review_launch.launch_content(launch))

    def show_changes(self) -> None:
        """Count the fields in which something else stands than in the profile."""
        changed = sum(
            field.has_class("-changed") for field in self.form.fields if not review_form.of_run_alone(field.spec.name)
        )
        self.form.border_subtitle = f"{changed} changed" if changed else "as in the profile"

    def show_warnings(self, found: list[str]) -> None:
        """Show the strip of warnings, or hide it."""
        strip = self.query_one("#review-warnings", Static)
        strip.update(Content("\n".join(f"{self.shell.symbols.warn} {text}" for text in found)))
        strip.set_class(bool(found), "-shown")

    def show_problem(self, problem: str) -> None:
        """Say why nothing can be started."""
        self.problem = problem
        self.show_warnings([])
        self.show_changes()
        self.show_launch()
        self.plan_pane.border_subtitle = "plan is out of date"
        self.query_one("#review-launch", Static).update(
            Content.styled(f"{self.shell.symbols.bad} cannot start: {problem.splitlines()[0]}", "$bad")
        )
        if "\n" in problem:
            self.plan_pane.show(lambda width: indented([(problem, BAD)], width, 0))

    # -- actions

    def action_edit(self) -> None:
        """Go into the form."""
        self.form.focus_first()
        self.show_keys()

    def action_preflight(self) -> None:
        """Ask the hosts whether they would take the plan."""
        if self.plan is None:
            self.notify(self.problem or "nothing to run yet", severity="error")
        elif not self.starting:
            self.ask_hosts(self.plan)

    @work(group="preflight", exclusive=True)
    async def ask_hosts(self, plan: Plan) -> None:
        """Count the answers as they come, then show them above the plan."""
        heard: list[str] = []
        pane = self.plan_pane

        def hear(name: str) -> None:
            heard.append(name)
            pane.border_subtitle = f"preflight: {len(heard)} of {len(plan.hosts)} answered"

        pane.border_subtitle = f"preflight: 0 of {len(plan.hosts)} answered"
        person = Remembering(partial(text_entry.ask, self.app))
        answers = await ask_ahead(plan, self.shell.paths, person, hear)
        if plan == self.plan:
            self.preflight.take(plan, answers)
            self.shows_jobs = False
            self.show_plan(plan)
            pane.scroll_home(animate=False)

    def action_view(self) -> None:
        """Switch between plan and job files."""
        self.shows_jobs = not self.shows_jobs
        if self.plan is not None:
            self.show_plan(self.plan)
            self.plan_pane.scroll_home(animate=False)

    async def action_defaults(self) -> None:
        """Forget every change to what the profile says."""
        self.shell.selection.change_nothing()
        await self.fill_form()
        self.replan()

    def action_back(self) -> None:
        """Leave the form first."""
        if self.in_form:
            self.leave_form()
        else:
            super().action_back()

    @property
    def in_form(self) -> bool:
        """Whether a field has the focus."""
        return self.form in (self.focused.ancestors if self.focused else ())

    @on(Form.Done)
    def leave_form(self) -> None:
        """Back to the plan, where Enter starts."""
        self.set_focus(self.plan_pane)

    def on_descendant_focus(self) -> None:
        """The footer follows the focus."""
        self.show_keys()

    def on_descendant_blur(self) -> None:
        """The footer follows the focus."""
        self.show_keys()

    def show_keys(self) -> None:
        """Show the keys of a field while one has the focus; without a choice those that lead to one."""
        lacking = (
            () if self.shell.selection.ready else (*((key, name) for key, name, _ in self.ways), *review_form.ANYWHERE)
        )
        typing = review_form.CHOICE_KEYS if isinstance(self.focused, ChoiceInput) else review_form.FORM_KEYS
        self.query_one(KeyBar).show_hint(*(typing if self.in_form else lacking))
        self.form.border_title = "Parameters: keys go here" if self.in_form else "Parameters"
        self.show_launch()

    # -- starting

    def action_launch(self) -> None:
        """Start what is shown, after a look at what it overwrites: a name must be typed for what is lost."""
        if self.starting:
            return  # Enter was pressed twice
        if not self.guard.seen and self.problem is None and self.shell.selection.ready:
            self.come_early()
        elif self.plan is None:
            self.notify(self.problem or "nothing to run yet", severity="error")
            self.form.focus_first()
        else:
            self.starting = True
            self.person = Remembering(partial(text_entry.ask, self.app))
            self.look_first(self.plan)

    @work(group="launch")
    async def look_first(self, plan: Plan) -> None:
        """Look at the targets on all hosts when something could be overwritten, then start or ask."""
        from tui.engine.preflight.missing_tools import has_several_tools
        from tui.engine.preflight.preview import overwrites

        found, whole = None, plan
        if overwrites(plan) or has_several_tools(plan):
            self.query_one("#review-launch", Static).update(Content.styled("looking at the hosts", "$dim"))
            found, plan = await look(plan, self.shell.paths, self.person)
        self.starting = False
        if self.app.screen is not self or self.plan != whole:
            self.replan()
            self.notify("not started: something else was chosen meanwhile", severity="warning")
            return
        if plan is not whole and not await self.agrees_to_leave_out(plan):
            self.show_plan(whole)
            return
        if found is None or not (found.names or found.problems):
            self.launch(plan)
            return
        self.show_plan(plan)
        dialog = OverwriteDialog(found.lines, [str(problem) for problem in found.problems], found.names)
        self.app.push_screen(dialog, partial(self.agreed, plan, found.names))

    async def agrees_to_leave_out(self, plan: Plan) -> bool:
        """Ask whether to run what is left when hosts lack a load generator."""
        left = "\n".join(left.text() for left in plan.left_out)
        answer = await self.app.push_screen_wait(Confirm("Leave this out and run the rest?", left))
        return answer == "yes"

    def agreed(self, plan: Plan, names: tuple[str, ...], answer: bool | None) -> None:
        """Start once every name was typed."""
        from msgspec.structs import replace

        if answer:
            self.launch(replace(plan, destroy=names))

    def launch(self, plan: Plan) -> None:
        """Start the engine, once."""
        self.starting = True
        self.start_engine(plan)

    @work(group="launch")
    async def start_engine(self, plan: Plan) -> None:
        """Start the engine and watch it."""
        from tui.engine.launch import launch_asking

        try:
            launched = await asyncio.to_thread(launch_asking, plan, self.shell.paths.runs)
        except BenchtuiError as error:
            self.notify(str(error), severity="error")
            return
        finally:
            self.starting = False
        self.shell.open_live(launched.run_dir)
        self.shell.answer_questions(launched.questions, self.person)
        self.person = None
