"""Review (step 3): see exactly what a run will do, change parameters, start it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from textual import events
from textual.containers import Center
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.app.screens import review_form
from tui.app.screens.plan_screen import DEFAULTS, PlanScreen, Way, ask_for_name, await_plan
from tui.app.screens.review_form import SEARCH
from tui.app.services.resuming import TO_TARGET, known_hosts
from tui.app.terminal import actions
from tui.app.terminal.action import key_name
from tui.model.hostspec import LOCAL
from tui.model.plain import some
from tui.model.problem import BenchtuiError, UsageError
from tui.text.save_texts import WITHOUT_SEARCH

if TYPE_CHECKING:
    from tui.app.frame.shell import AppShell
    from tui.engine.inputs.profiles import LoadedProfile


RECENT = 20  # newest runs searched for one whose hosts all exist


def missing_keys(shell: AppShell) -> list[Way]:
    """Return the ways to continue, the usual one first."""
    selection = shell.selection
    if selection.ticked:
        return [("2", "profiles", "choose a profile first")]
    first = "choose hosts first"
    if selection.servers:
        first = f"choose a host that generates load; only monitored: {some(selection.servers)}"
    ways = [("1", "hosts", first), way("review.local", "run on this machine")]
    if names := last_hosts(shell):
        ways.append(way("review.last-hosts", f"run on the last run's hosts: {some(names)}"))
    return ways


def way(action_id: str, says: str) -> Way:
    """Return an action of this screen as a way to continue; `says` describes it."""
    action = next(each for each in actions.in_scope("review") if each.id == action_id)
    return key_name(action.keys[0]), action.label, says


def missing_content(ways: Sequence[Way]) -> Content:
    """Return the ways to continue, one per line."""
    return Content("\n").join(
        [Content.assemble((key, "bold $accent"), f" {says}") for key, _, says in ways]
    )


def last_hosts(shell: AppShell) -> list[str]:
    """Return the hosts of the newest run whose hosts all still exist.

    Empty if there is none.
    """
    try:
        for run in shell.store.list(RECENT):
            names, gone = known_hosts(run.hosts, shell.fleet)
            if names and not gone:
                return names
    except BenchtuiError:
        pass  # Runs and Hosts say why
    return []


class ReviewScreen(PlanScreen):
    """Parameters of the selected profile, and the plan for the selected hosts."""

    SCOPE = "review"
    UNCHANGED = "as in the profile"

    def __init__(self) -> None:
        super().__init__()
        self._made_for: object = None  # what the form was filled for
        self._sent_to = ""  # the place that another screen asked for
        # what a reset to the profile's values replaced, and of which profile
        self.typed_before: tuple[str, dict[str, Any]] = "", {}

    def compose_body(self) -> Iterable[Widget]:
        """Yield form and plan, or what is missing for them."""
        yield from super().compose_body()
        yield Center(Static(id="review-missing"), id="review-empty")

    @property
    def back(self) -> str:
        """Name of the screen that Escape leads to.

        After "run again", this is the screen where it was pressed.
        """
        return self.shell.again_from or super().back

    # -- what is chosen

    async def on_screen_resume(self, event: events.ScreenResume) -> None:  # noqa: ARG002
        """Show the selection, which may have changed."""
        await self.show_choice()

    async def show_choice(self) -> None:
        """Show form and plan for the selection, or what is missing."""
        selection = self.shell.selection
        self.set_class(not selection.ready, "-empty")
        self.plan, self.problem = None, None
        if not selection.ready:
            # it reads runs
            self.ways = await asyncio.to_thread(missing_keys, self.shell)
            self.query_one("#review-missing", Static).update(missing_content(self.ways))
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
            await_plan(self)
            await self.fill_form()
        self.launch_line.hold()
        self.replan()
        if not isinstance(self.focused, Widget):
            self.set_focus(self.plan_pane)
        if self._sent_to == TO_TARGET and self.plan is not None:
            target = self.plan.target
            holds = (name for name, text in self.form.values.items() if target and text == target)
            self.form.focus_on(next(holds, ""))
        self._sent_to = ""
        self.show_keys()

    def arrive(self, at: str) -> None:
        """Move to a place in the form once the plan is made."""
        self._sent_to = at

    async def action_local(self) -> None:
        """Select this machine, if no host is selected."""
        await self.take_hosts([LOCAL])

    async def action_last_hosts(self) -> None:
        """Select the hosts of the last run, if no host is selected."""
        await self.take_hosts(await asyncio.to_thread(last_hosts, self.shell))

    async def take_hosts(self, names: list[str]) -> None:
        """Select hosts, unless some are selected."""
        selection = self.shell.selection
        if selection.ticked:
            self.notify(f"the plan runs on {selection.hosts_text()}; press 1 to choose others")
            return
        if not names:
            self.notify("no earlier run whose hosts all still exist", severity="warning")
        for name in names:
            selection.put(name, server=False)
        self.refresh_chrome()
        await self.show_choice()

    # -- the form

    async def fill_form(self) -> None:
        """Create the fields for the profile's parameters and the options of the run."""
        if self.loaded is not None:
            await self.form.set_fields(review_form.form_of(self.loaded, self.shell.selection))
            self.dim_unused()

    def dim_unused(self) -> None:
        """Dim the parameters that a sweep or a search sets."""
        if self.loaded is not None:
            kind = self.form.values.get(SEARCH, "")
            with suppress(ValueError):  # half of a sweep is typed
                self.form.dim(review_form.unused_fields(self.loaded, self.shell.selection, kind))

    def check_field(self, name: str, text: str) -> str | None:
        """Return what is wrong with one field, None if valid."""
        return review_form.check_field(self.loaded.profile, name, text) if self.loaded else None

    async def keep_typed(self) -> None:
        """Keep the input, and replace the fields if another kind of search is selected."""
        selection, values = self.shell.selection, self.form.values
        defaults = {field.spec.name: field.spec.default for field in self.form.fields}
        kind = (selection.search and selection.search.kind) or defaults.get(SEARCH)
        if self.loaded is None:
            return
        review_form.keep_typed(
            self.loaded.profile, selection, values, defaults, right=not self.form.errors
        )
        self.dim_unused()
        if SEARCH in values and not self.form.errors and values[SEARCH] != kind:
            selection.repeat = selection.sweep = ""  # a search decides both
            stays = self.form.has_focus_within
            await self.fill_form()
            if stays:
                self.form.focus_on(SEARCH, typing=True)

    async def action_defaults(self) -> None:
        """Reset all fields to the profile's values; if all have them, bring back what was typed."""
        selection = self.shell.selection
        now, of = selection.typed_input(), selection.profile or ""
        selection.reset_input()
        if now != selection.typed_input():
            self.typed_before = of, now
            self.notify(DEFAULTS)
        elif self.typed_before[0] == of:
            selection.put_input(self.typed_before[1])
        await self.fill_form()
        self.form.go_to_top()
        self.replan()

    def action_save(self) -> None:
        """Ask for a name and write the displayed values as a profile."""
        ask_for_name(self, self.save)

    async def save(self, name: str | None) -> None:
        """Save the displayed values as a profile, and select it. Raises BenchtuiError."""
        from tui.engine.inputs.profile_files import create

        if self.loaded is None:
            return
        tag, selection = name or "", self.shell.selection
        text = review_form.saved_text(self.loaded, selection, tag)
        catalogue = self.shell.catalogue
        catalogue.load_text(text, catalogue.user_dir / f"{tag}.yaml")  # raises before it is written
        path = create(catalogue, tag, text)
        searches = selection.search is not None and selection.search.kind not in (None, "none")
        selection.choose_profile(tag)
        self.notify(f"saved {tag}{WITHOUT_SEARCH if searches else ''}: {path}")
        self.refresh_chrome()
        await self.show_choice()

    def take_input(self) -> LoadedProfile:
        """Return the selected profile. Raises UsageError."""
        if self.loaded is None:
            raise UsageError("no profile chosen")
        return self.loaded
