"""Step 3: see exactly what will happen, change parameters, start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import events
from textual.containers import Center
from textual.widget import Widget
from textual.widgets import Static

from tui.app.screens import review_form, review_missing
from tui.app.screens.plan_screen import PlanScreen
from tui.app.screens.review_form import SEARCH
from tui.model.hostspec import LOCAL
from tui.model.problem import BenchtuiError, UsageError

if TYPE_CHECKING:
    from tui.model.plan import Plan


class ReviewScreen(PlanScreen):
    """Parameters of the chosen profile on the left, the plan for the chosen hosts on the right."""

    SCOPE = "review"
    UNCHANGED = "as in the profile"

    def __init__(self) -> None:
        super().__init__()
        self._made_for: object = None  # what the form was filled for

    def compose_body(self) -> Iterable[Widget]:
        """Form and plan, or what is missing for them."""
        yield from super().compose_body()
        yield Center(Static(id="review-missing"), id="review-empty")

    @property
    def back(self) -> str:
        """The screen that Escape leads to: for "run again", where it was asked for."""
        return self.shell.again_from or super().back

    # -- what is chosen

    async def on_screen_resume(self, event: events.ScreenResume) -> None:  # noqa: ARG002
        """Update: hosts or profile may have changed."""
        await self.show_choice()

    async def show_choice(self) -> None:
        """Show form and plan of the selection, or what is missing."""
        selection = self.shell.selection
        self.set_class(not selection.ready, "-empty")
        self.plan, self.problem = None, None
        if not selection.ready:
            # it reads runs
            self.ways = await asyncio.to_thread(review_missing.missing_keys, self.shell)
            self.query_one("#review-missing", Static).update(
                review_missing.missing_content(self.ways)
            )
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
        self.launch_line.hold()
        self.replan()
        if not isinstance(self.focused, Widget):
            self.set_focus(self.plan_pane)
        self.show_keys()

    async def action_local(self) -> None:
        """Run on this machine if no host is chosen."""
        await self.take_hosts([LOCAL])

    async def action_last_hosts(self) -> None:
        """Run on the hosts of the last run if none is chosen."""
        await self.take_hosts(await asyncio.to_thread(review_missing.last_hosts, self.shell))

    async def take_hosts(self, names: list[str]) -> None:
        """Choose these hosts, unless some are chosen."""
        selection = self.shell.selection
        if selection.ticked:
            self.notify(f"runs on {selection.hosts_text()}; press 1 to choose others")
            return
        if not names:
            self.notify("no earlier run whose hosts all still exist", severity="warning")
        for name in names:
            selection.put(name, server=False)
        self.refresh_chrome()
        await self.show_choice()

    # -- the form

    async def fill_form(self) -> None:
        """Make the fields of the profile's parameters and of the run's own choices."""
        if self.loaded is not None:
            await self.form.set_fields(review_form.form_of(self.loaded, self.shell.selection))
            self.dim_unused()

    def dim_unused(self) -> None:
        """Dim the parameters that a sweep or a search decides."""
        if self.loaded is not None:
            kind = self.form.values.get(SEARCH, "")
            with suppress(ValueError):  # half of a sweep is typed
                self.form.dim(review_form.unused_fields(self.loaded, self.shell.selection, kind))

    def check_field(self, name: str, text: str) -> str | None:
        """Return what is wrong with a field's text."""
        return review_form.check_field(self.loaded.profile, name, text) if self.loaded else None

    async def keep_typed(self) -> None:
        """Keep the input; another kind of search has other fields."""
        selection, values = self.shell.selection, self.form.values
        defaults = {field.spec.name: field.spec.default for field in self.form.fields}
        kind = (selection.search and selection.search.kind) or defaults.get(SEARCH)
        review_form.keep_typed(selection, values, defaults, right=not self.form.errors)
        self.dim_unused()
        if SEARCH in values and not self.form.errors and values[SEARCH] != kind:
            selection.repeat = selection.sweep = ""  # a search decides both
            stays = self.form.has_focus_within
            await self.fill_form()
            if stays:
                self.form.focus_on(SEARCH, typing=True)

    async def action_defaults(self) -> None:
        """Reset everything to the profile's values."""
        self.shell.selection.change_nothing()
        await self.fill_form()
        self.replan()

    def build_plan(self) -> Plan:
        """Build the plan from the selection. Raises UsageError."""
        if self.loaded is None:
            raise UsageError("no profile chosen")
        return review_form.plan_of(self.loaded, self.shell)
