"""Profiles (step 2): choose what to run."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from tui.app.dialogs.text_entry import NewProfile
from tui.app.frame.step_screen import FilteredScreen
from tui.app.screens import profiles_job, review_plan
from tui.app.screens import profiles_text as profile_text
from tui.app.services.launching import sample_plan
from tui.app.services.outside_editor import edit_outside
from tui.app.widgets.form import FilterInput
from tui.app.widgets.lines import Builder, TextPane, entitle
from tui.app.widgets.picklist import PickList, wanted_width
from tui.model.problem import BenchtuiError
from tui.text.line import LABEL, TEXT, Line, Run, folded
from tui.view.plan import writes_at_all
from tui.view.plan_layout import LayoutAhead

if TYPE_CHECKING:
    from tui.engine.inputs.job_words import JobInWords
    from tui.engine.inputs.profile_files import Stamps
    from tui.engine.inputs.profiles import Catalogue, CatalogueEntry, LoadedProfile
    from tui.model.plan import Plan

CHECK_FILES_S = 1.0  # between two checks whether files have changed
WIDE_SIDE, NARROW_SIDE, LEAST_SIDE = 47, 42, 30  # cells of the list, as in the style sheet
FRAME = 4  # cells around its rows
SEARCHES = "name, title, or job: 4k random read"
NO_MATCH = "Nothing matches the filter: Esc clears it"
READING = "reading the profiles"
PLANNED = ("time", "layout", "load", "writes")  # of the plan on one host
OF_ANY_HOST = LayoutAhead(per_host=True)


class ProfilesScreen(FilteredScreen):
    """Lists profiles by family, with details of the one under the cursor."""

    SCOPE = "profiles"
    CSS_PATH = "profiles.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[CatalogueEntry] = []
        self.shown: list[CatalogueEntry] = []
        self.job: JobInWords | None = None  # that the search describes
        self.used: list[str] = []  # tags, newest first
        self.shows_job = False
        self.detail = TextPane(id="profiles-detail")
        self.sent_to = ""  # the profile that another screen asked for
        self.selected: str | None = None  # when this screen was shown last, or chosen here
        self._early = False  # Enter was pressed before the list was loaded
        self._stamps: Stamps | None = None
        self._comparing = False

    def compose_body(self) -> Iterable[Widget]:
        """Yield the list with its filter, and the details beside it."""
        columns = profile_text.columns(
            lambda: self.shell.selection.profile, self.shell.symbols, lambda: self.filter.value
        )
        picklist = PickList(columns, profile_text.key_of, fits=True, id="profiles-list")
        picklist.add_class("pane", update=False)
        picklist.border_title = "Profiles"
        filter_ = FilterInput(SEARCHES, "profiles-filter")
        self.detail.fills = True  # with job files, if they fit
        yield Horizontal(
            Vertical(picklist, filter_, id="profiles-side"), self.detail, id="profiles-body"
        )

    def on_mount(self) -> None:
        """Show the list at once; a thread reads the catalogue."""
        self.set_focus(self.picklist)
        self.show_details()  # says that they are being read
        self.load_profiles(self.sent_to or self.shell.selection.profile, begins=not self.sent_to)
        self.set_interval(CHECK_FILES_S, self.check_for_changes)

    async def on_screen_resume(self, event: events.ScreenResume) -> None:  # noqa: ARG002
        """Move the cursor to a profile that another screen has selected since."""
        tag, before = self.shell.selection.profile, self.selected
        self.selected = tag
        if tag and tag != before and self.entries:
            self.show_rows()
            self.picklist.move_to(tag)
            self.show_details()

    # -- loading

    @work(thread=True, group="load-profiles", exclusive=True)
    def load_profiles(self, focus: str | None = None, *, begins: bool = False) -> None:
        """Read all profiles.

        `begins`: the cursor goes to the selected profile, the one used last, or one to start with.
        """
        entries, used = self.shell.catalogue.list(), self.shell.profiles_used()
        if begins:
            focus = focus or profile_text.first_key(entries, used)
        if focus and not begins:
            self.hand_over(self.unhide, entries, focus)
        self.hand_over(self.take_profiles, entries, used, focus)
        profiles_job.offered(entries, SEARCHES)  # loads what the first search would wait for

    def unhide(self, entries: list[CatalogueEntry], key: str) -> None:
        """Clear the filter if it hides a profile just created or edited."""
        if key not in map(profile_text.key_of, profile_text.found(entries, self.filter.value)):
            self.clear_filter()

    def take_profiles(
        self, entries: list[CatalogueEntry], used: list[str], focus: str | None = None
    ) -> None:
        """Show the profiles, then act on an Enter pressed before they were read.

        A filter that hides a new profile is cleared, unless it is being typed.
        """
        known = set(map(profile_text.key_of, self.entries))
        new = [each for each in entries if known and profile_text.key_of(each) not in known]
        if new and self.filter.value and not self.filter.has_focus:
            focus = profile_text.key_of(new[-1])
            self.unhide(list(entries), focus)
        self.entries, self.used = list(entries), used
        self.show_rows()
        if focus:
            self.picklist.move_to(focus)
        self.show_details()
        if self._early:
            self._early = False
            self.action_next()

    def arrive(self, at: str) -> None:
        """Reload the profiles after an edit, with the cursor on the edited one."""
        self.sent_to = at
        self.load_profiles(at)

    def filter_changed(self) -> None:
        """Show the matches and move the cursor to the best one, while typing.

        The best match is the job if every word describes it, or if no profile matches.
        """
        super().filter_changed()
        best = (
            profile_text.best(self.shown, self.filter.value) if self.filter.value.strip() else None
        )
        if self.job is not None and (self.job.is_whole or best is None):
            self.picklist.move_to(profiles_job.NEW_JOB)
        elif best is not None:
            self.picklist.move_to(profile_text.key_of(best))

    # -- showing

    def show_rows(self) -> None:
        """Show the rows and their number."""
        search = self.filter.value
        self.job = profiles_job.offered(self.entries, search)
        self.shown = profile_text.found(self.entries, search, by_words=self.job is not None)
        top = profile_text.top_rows(self.entries, self.used) if not search else []
        if self.job is not None:
            top = [profiles_job.row(self.job, usual_width(self) - FRAME)]
        self.picklist.set_rows([*top, *profile_text.rows(self.shown, search)])
        found = f"{len(self.shown)} of " if search else ""
        self.picklist.border_subtitle = f"{found}{len(self.entries)} profiles"
        fit_width(self)
        self.show_details()

    def show_details(self) -> None:
        """Show the profile under the cursor or, on a heading, its family.

        Without rows, show why there are none.
        """
        entry, key = self.current, self.picklist.cursor_key
        if self.job is not None and key == profiles_job.NEW_JOB:
            entitle(self.detail, "New job", "")
            self.detail.show(partial(profiles_job.details, self.job, self.shell.symbols))
            return
        family = (
            [each for each in self.shown if key == profile_text.heading_key(each)]
            if entry is None
            else []
        )
        self.detail.border_title = (
            entry.tag if entry else profile_text.family_of(family[0].tag) if family else ""
        )
        self.show_view_key()
        if entry is not None:
            self.detail.show(profile_builder(self, entry))
        elif family:
            self.detail.show(partial(profile_text.family, family))
        else:
            hint = (
                NO_MATCH
                if self.filter.value and not self.shown
                else ""
                if self.entries
                else READING
            )
            self.detail.show(lambda _: [Line.of((hint, LABEL))])

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def show_view_key(self) -> None:
        """Show the key that switches between description and job file.

        Hide it while the filter has the focus, because the filter takes letters as text.
        """
        works = self.current is not None and not self.filter.has_focus
        key = "v description" if self.shows_job else "v job file"
        entitle(self.detail, subtitle=key if works else "")

    @property
    def current(self) -> CatalogueEntry | None:
        """The profile under the cursor; None on a heading."""
        key = self.picklist.cursor_key
        tag = (key or "").removeprefix("@")
        return next(
            (entry for entry in self.shown if profile_text.key_of(entry) in (key, tag)), None
        )

    @on(PickList.Moved)
    def cursor_moved(self) -> None:
        """Show the details of the row under the cursor."""
        self.show_details()
        self.detail.scroll_home(animate=False)

    @on(PickList.Clicked)
    def row_clicked(self, event: PickList.Clicked) -> None:
        """Select a profile on a double click."""
        if event.twice:
            self.action_next()

    # -- actions

    def action_next(self) -> None:
        """Select the profile under the cursor and continue to the next step.

        The row of a new job leads to its form.
        """
        entry = self.current
        if self.picklist.cursor_key == profiles_job.NEW_JOB:
            self.action_job()
        self._early = not self.entries
        if entry is None:
            return
        if entry.error:
            self.notify("cannot read this profile: press e to edit it", severity="error")
            return
        self.shell.selection.choose_profile(entry.tag)
        self.selected = entry.tag
        self.show_rows()
        self.shell.go("review")

    def action_job(self) -> None:
        """Open the form of a job, filled with the one that the search describes."""
        self.shell.go("job", self.filter.value if self.job is not None else "")

    def action_view(self) -> None:
        """Switch between description and job file."""
        self.shows_job = not self.shows_job
        self.show_details()
        self.detail.scroll_home(animate=False)

    # -- editing

    def action_edit(self) -> None:
        """Edit the user's profile under the cursor.

        A preset must first be extended or copied under a new name.
        """
        entry = self.current
        if entry is None:
            if self.picklist.cursor_key:
                self.notify("this is a group: choose one of its profiles", severity="warning")
            return
        if entry.preset:
            self.action_new()
        else:
            self.shell.open("editor", entry.path)

    def action_new(self) -> None:
        """Ask for a name and how to create the profile, then edit it."""
        entry = self.current
        if entry is None or entry.error:
            self.notify("choose a profile first", severity="warning")
            return
        taken = frozenset(each.tag for each in self.entries if not each.preset)
        write = partial(write_profile, self.shell.catalogue, entry.tag)
        self.app.push_screen(NewProfile(entry.tag, taken).accepting(write), self.edit_new)

    def edit_new(self, answer: tuple[str, str] | None) -> None:
        """Open the new profile in the editor, if one was written."""
        if answer is not None and (path := self.shell.catalogue.own_file(answer[1])) is not None:
            self.load_profiles(answer[1])
            self.shell.open("editor", path)

    def action_outside(self) -> None:
        """Edit the user's profile under the cursor in $EDITOR.

        Its problems are shown on return.
        """
        entry = self.current
        if entry is None:
            return
        if entry.preset:
            self.notify(
                "presets are read-only: press N to create your own profile from it",
                severity="warning",
            )
            return
        if edit_outside(self, entry.path, self.shell.options.environ):
            self.load_profiles(profile_text.key_of(entry))

    # -- files that are saved outside

    def check_for_changes(self) -> None:
        """Check every second whether the user's files changed, while this screen is shown."""
        if self.is_current and not self._comparing:
            self._comparing = True
            self.compare_files()

    @work(thread=True, group="compare-files")
    def compare_files(self) -> None:
        """Compare file names, sizes and mtimes.

        A thread does that, because a home directory may be slow.
        """
        from tui.engine.inputs.profile_files import stamps

        found = stamps(self.shell.paths.profiles)
        self.app.call_from_thread(self.take_stamps, found)

    def take_stamps(self, found: Stamps) -> None:
        """Reload the profiles if a file has changed."""
        self._comparing = False
        if self._stamps is not None and found != self._stamps:
            entry = self.current
            self.load_profiles(profile_text.key_of(entry) if entry else None)
        self._stamps = found


async def write_profile(catalogue: Catalogue, origin: str, answer: tuple[str, str] | None) -> None:
    """Write a new profile that extends or copies `origin`. Raises BenchtuiError.

    `answer`: "extend" or "copy", and the tag of the new profile; None writes nothing.
    """
    if answer is None:
        return
    from tui.engine.inputs.profile_files import create, extending
    from tui.engine.inputs.profiles import retagged

    how, tag = answer
    loaded = catalogue.load(origin)
    text = extending(loaded, tag) if how == "extend" else retagged(loaded.text, tag)
    create(catalogue, tag, text)


def profile_builder(screen: ProfilesScreen, entry: CatalogueEntry) -> Builder:
    """Return the builder of the description or the job file of a profile."""
    try:
        loaded = screen.shell.catalogue.load_file(entry.path, preset=entry.preset)
        if not screen.shows_job:
            return partial(description, screen, loaded, entry.headline)
        lines = review_plan.job_files(sample_plan(loaded, screen.shell))
    except BenchtuiError as error:
        return partial(profile_text.broken, error.problems, screen.shell.symbols)
    return lambda width: [part for line in lines for part in folded(line, width)]


def description(
    screen: ProfilesScreen, loaded: LoadedProfile, headline: str, width: int
) -> list[Line]:
    """Return what a profile measures, with its job files if they fit."""
    plan = None
    with suppress(BenchtuiError):
        plan = sample_plan(loaded, screen.shell)
    writes = plan is None or any(map(writes_at_all, plan.steps))
    lines = profile_text.description(
        loaded.profile, headline, planned(plan, width) if plan else [], width, writes=writes
    )
    room = screen.detail.scrollable_content_region.height - len(lines) - 1
    jobs = review_plan.job_files(plan, room) if plan else []
    folds = (part for line in jobs for part in folded(line, width))
    return [*lines, Line(), *folds] if jobs else lines


def fit_width(screen: ProfilesScreen) -> None:
    """Give the details the cells that a short list of matches does not need."""
    few = bool(screen.filter.value and screen.shown) and not screen.picklist.scrolls
    wanted = max(LEAST_SIDE, wanted_width(screen.picklist) + FRAME)
    few &= screen.job is None  # its row may need more
    screen.query_one("#profiles-side").styles.width = (
        min(wanted, usual_width(screen)) if few else None
    )


def usual_width(screen: ProfilesScreen) -> int:
    """Return the cells of the list beside long details, as in the style sheet."""
    return NARROW_SIDE if screen.has_class("-narrow") else WIDE_SIDE


def planned(plan: Plan, width: int) -> list[tuple[str, list[Run]]]:
    """Return time, steps and bytes of a plan on one host, for a pane of `width` cells."""
    facts = review_plan.summary(plan, width - profile_text.INDENT, OF_ANY_HOST)
    steps = ("steps", [(str(len(plan.steps)), TEXT)])
    return [*(pair for pair in facts if pair[0] in PLANNED), steps]
